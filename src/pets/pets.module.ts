import { Feature } from 'petstore/platform';
import { CategoriesModule } from '../categories/categories.module.js';
import { Pet } from './pet.entity.js';
import { PetsController } from './pets.controller.js';
import { PetsService } from './pets.service.js';
import { DECLARATIONS } from './pets.declarations.js';

@Feature({
  name: 'pets',
  ...DECLARATIONS,
  tags: { pets: 'The animals of the store.' },
  entities: [Pet],
  imports: [CategoriesModule],
  controllers: [PetsController],
  providers: [PetsService],
  exports: [PetsService],
})
export class PetsModule {}
