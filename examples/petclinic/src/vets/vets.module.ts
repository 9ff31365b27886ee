import { Module } from '@nestjs/common';
import { DataModule } from 'petstore/platform';
import { SpecialtiesController } from './specialties.controller.js';
import { SpecialtiesService } from './specialties.service.js';
import { Specialty } from './specialty.entity.js';
import { VetSpecialty } from './vet-specialty.entity.js';
import { Vet } from './vet.entity.js';
import { VetsController } from './vets.controller.js';
import { VetsService } from './vets.service.js';
import './vets.errors.js';
import './vets.permissions.js';

@Module({
  imports: [DataModule.forFeature([Specialty, Vet, VetSpecialty])],
  controllers: [SpecialtiesController, VetsController],
  providers: [SpecialtiesService, VetsService],
})
export class VetsModule {}
