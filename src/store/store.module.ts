import { Module } from '@nestjs/common';
import { DataModule } from '../platform/data/data.module.js';
import { PetsModule } from '../pets/pets.module.js';
import { Order } from './order.entity.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';
import './store.errors.js';

@Module({
  imports: [DataModule.forFeature([Order]), PetsModule],
  controllers: [OrdersController],
  providers: [OrdersService],
})
export class StoreModule {}
