import { PetsModule } from './pets/pets.module.js';
import { CategoriesModule } from './categories/categories.module.js';
import { StoreModule } from './store/store.module.js';
import { MessagesModule } from './messages/messages.module.js';

/** The features of the service. */
export const FEATURES = [
  // Here and above, in the order that they have in the OpenAPI document.
  PetsModule,
  CategoriesModule,
  StoreModule,
  MessagesModule,
];
