import { Feature } from 'petstore/platform';
import { PetsModule } from '../pets/pets.module.js';
import { Order } from './order.entity.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';
import { ERRORS } from './store.errors.js';
import { PERMISSIONS } from './store.permissions.js';

@Feature({
  name: 'store',
  tags: { store: 'Orders for animals, from placed to delivered.' },
  entities: [Order],
  permissions: PERMISSIONS,
  errors: ERRORS,
  imports: [PetsModule],
  controllers: [OrdersController],
  providers: [OrdersService],
  exports: [OrdersService],
})
export class StoreModule {}
