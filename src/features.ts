import { installFeatures } from './platform/features/index.js';
import { PetsModule } from './pets/pets.module.js';
import { CategoriesModule } from './categories/categories.module.js';
import { StoreModule } from './store/store.module.js';
import { MessagesModule } from './messages/messages.module.js';

/** The features of the service, with those that the program which starts it has chosen. */
export const FEATURES = installFeatures([
  // Here and above, in the order that they have in the OpenAPI document.
  PetsModule,
  CategoriesModule,
  StoreModule,
  MessagesModule,
]);
