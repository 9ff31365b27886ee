import { Module } from '@nestjs/common';
import { DataModule } from 'petstore/platform';
import { PetsModule } from '../pets/pets.module.js';
import { Visit } from './visit.entity.js';
import { VisitsController } from './visits.controller.js';
import { VisitsService } from './visits.service.js';
import './visits.errors.js';
import './visits.permissions.js';

@Module({
  imports: [DataModule.forFeature([Visit]), PetsModule],
  controllers: [VisitsController],
  providers: [VisitsService],
})
export class VisitsModule {}
