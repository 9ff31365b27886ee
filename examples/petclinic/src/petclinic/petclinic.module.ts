import { Feature } from 'petstore/platform';
import { OwnersModule } from '../owners/owners.module.js';
import { VetsModule } from '../vets/vets.module.js';
import { VisitsModule } from '../visits/visits.module.js';
import { Petclinic1800000000003 } from './migrations/1800000000003-petclinic.js';

/** Three features that were made together, and have one migration. */
@Feature({
  name: 'petclinic',
  imports: [OwnersModule, VetsModule, VisitsModule],
  migrations: [Petclinic1800000000003],
})
export class PetclinicModule {}
