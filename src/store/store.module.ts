import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { PetsModule } from '../pets/pets.module.js';
import { Order } from './order.entity.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';
import { Placements } from './placements.js';

@Module({
  imports: [TypeOrmModule.forFeature([Order]), PetsModule],
  controllers: [OrdersController],
  providers: [OrdersService, Placements],
})
export class StoreModule {}
