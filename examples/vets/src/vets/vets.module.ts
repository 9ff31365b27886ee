import { Feature } from 'petstore/platform';
import { Vet } from './vet.entity.js';
import { VetsController } from './vets.controller.js';
import { VetsService } from './vets.service.js';
import { DECLARATIONS } from './vets.declarations.js';
import { Vets1800000000000 } from './migrations/1800000000000-vets.js';

@Feature({
  name: 'vets',
  ...DECLARATIONS,
  tags: { vets: 'The vets of the store.' },
  entities: [Vet],
  migrations: [Vets1800000000000],
  controllers: [VetsController],
  providers: [VetsService],
})
export class VetsModule {}
