import { Feature } from 'petstore/platform';
import { CategoriesModule } from '../categories/categories.module.js';
import { Pet } from './pet.entity.js';
import { PetsController } from './pets.controller.js';
import { PetsService } from './pets.service.js';
import { ERRORS } from './pets.errors.js';
import { PERMISSIONS } from './pets.permissions.js';

@Feature({
  name: 'pets',
  tags: { pets: 'The animals of the store.' },
  entities: [Pet],
  permissions: PERMISSIONS,
  errors: ERRORS,
  imports: [CategoriesModule],
  controllers: [PetsController],
  providers: [PetsService],
  exports: [PetsService],
})
export class PetsModule {}
