import { Module } from '@nestjs/common';
import { DataModule } from 'petstore/platform';
import { Pet } from './pet.entity.js';
import { PetsController } from './pets.controller.js';
import { PetsService } from './pets.service.js';
import './pets.errors.js';
import './pets.permissions.js';

@Module({
  imports: [DataModule.forFeature([Pet])],
  controllers: [PetsController],
  providers: [PetsService],
  exports: [PetsService],
})
export class PetsModule {}
