import { Feature } from 'petstore/platform';
import { SpecialtiesController } from './specialties.controller.js';
import { SpecialtiesService } from './specialties.service.js';
import { Specialty } from './specialty.entity.js';
import { VetSpecialty } from './vet-specialty.entity.js';
import { Vet } from './vet.entity.js';
import { VetsController } from './vets.controller.js';
import { VetsService } from './vets.service.js';
import { ERRORS } from './vets.errors.js';
import { PERMISSIONS } from './vets.permissions.js';

@Feature({
  name: 'vets',
  entities: [Specialty, Vet, VetSpecialty],
  permissions: PERMISSIONS,
  errors: ERRORS,
  controllers: [SpecialtiesController, VetsController],
  providers: [SpecialtiesService, VetsService],
})
export class VetsModule {}
