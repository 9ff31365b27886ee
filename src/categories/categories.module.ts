import { Feature } from 'petstore/platform';
import { CategoriesController } from './categories.controller.js';
import { CategoriesService } from './categories.service.js';
import { Category } from './category.entity.js';
import { DECLARATIONS } from './categories.declarations.js';

@Feature({
  name: 'categories',
  ...DECLARATIONS,
  tags: { categories: 'The kinds of animals. A new service has ten categories.' },
  entities: [Category],
  controllers: [CategoriesController],
  providers: [CategoriesService],
  exports: [CategoriesService],
})
export class CategoriesModule {}
