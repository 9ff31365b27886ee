import { CategoriesModule } from './categories/categories.module.js';
import { MessagesModule } from './messages/messages.module.js';
import { PetsModule } from './pets/pets.module.js';
import { StoreModule } from './store/store.module.js';

/** The features of the product. */
export const FEATURES = [
  // In the order of the OpenAPI document.
  PetsModule,
  CategoriesModule,
  StoreModule,
  MessagesModule,
];
