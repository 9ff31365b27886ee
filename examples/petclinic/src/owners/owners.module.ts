import { Module } from '@nestjs/common';
import { DataModule } from 'petstore/platform';
import { Owner } from './owner.entity.js';
import { OwnersController } from './owners.controller.js';
import { OwnersService } from './owners.service.js';
import './owners.errors.js';
import './owners.permissions.js';

@Module({
  imports: [DataModule.forFeature([Owner])],
  controllers: [OwnersController],
  providers: [OwnersService],
})
export class OwnersModule {}
