import { Feature } from 'petstore/platform';
import { PetsModule } from '../pets/pets.module.js';
import { Order } from './order.entity.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';
import { DECLARATIONS } from './store.declarations.js';

@Feature({
  name: 'store',
  ...DECLARATIONS,
  tags: { store: 'Orders for animals, from placed to delivered.' },
  entities: [Order],
  imports: [PetsModule],
  controllers: [OrdersController],
  providers: [OrdersService],
  exports: [OrdersService],
})
export class StoreModule {}
