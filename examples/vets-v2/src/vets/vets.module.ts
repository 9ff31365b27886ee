import { Module } from '@nestjs/common';
import { DataModule } from 'petstore/platform';
import { Vet } from './vet.entity.js';
import { VetsController } from './vets.controller.js';
import { VetsService } from './vets.service.js';
import { VetsV2Controller } from './vets-v2.controller.js';
import './vets.errors.js';
import './vets.permissions.js';

@Module({
  imports: [DataModule.forFeature([Vet])],
  controllers: [VetsController, VetsV2Controller],
  providers: [VetsService],
})
export class VetsModule {}
