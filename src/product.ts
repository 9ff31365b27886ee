// The package's entry `petstore/product`: entities that other features may refer to, modules and services;
// and, for the compiler, errors and permissions.
import './categories/categories.declarations.js';
import './messages/messages.declarations.js';
import './pets/pets.declarations.js';
import './store/store.declarations.js';

export { Account } from './auth/account.entity.js';
export { CategoriesModule } from './categories/categories.module.js';
export { CategoriesService } from './categories/categories.service.js';
export { Category } from './categories/category.entity.js';
export { MessagesModule } from './messages/messages.module.js';
export { MessagesService } from './messages/messages.service.js';
export { Pet, PetStatus } from './pets/pet.entity.js';
export { PetsModule } from './pets/pets.module.js';
export { PetsService } from './pets/pets.service.js';
export { Order, OrderStatus } from './store/order.entity.js';
export { OrdersService } from './store/orders.service.js';
export { StoreModule } from './store/store.module.js';
