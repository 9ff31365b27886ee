import { Module } from '@nestjs/common';
import { DataModule } from '../platform/data/data.module.js';
import { Owner } from './owner.entity.js';
import { OwnersController } from './owners.controller.js';
import { OwnersService } from './owners.service.js';
import './owners.errors.js';

@Module({
  imports: [DataModule.forFeature([Owner])],
  controllers: [OwnersController],
  providers: [OwnersService],
})
export class OwnersModule {}
