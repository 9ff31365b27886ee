import { Module } from '@nestjs/common';
import { DataModule } from 'petstore/platform';
import { PetsModule } from '../pets/pets.module.js';
import { Order } from './order.entity.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';
import './store.errors.js';
import './store.permissions.js';

@Module({
  imports: [DataModule.forFeature([Order]), PetsModule],
  controllers: [OrdersController],
  providers: [OrdersService],
})
export class StoreModule {}
