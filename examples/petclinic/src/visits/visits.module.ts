import { Module } from '@nestjs/common';
import { PetsModule } from '../pets/pets.module.js';
import { DataModule } from '../platform/data/data.module.js';
import { Visit } from './visit.entity.js';
import { VisitsController } from './visits.controller.js';
import { VisitsService } from './visits.service.js';
import './visits.errors.js';

@Module({
  imports: [DataModule.forFeature([Visit]), PetsModule],
  controllers: [VisitsController],
  providers: [VisitsService],
})
export class VisitsModule {}
