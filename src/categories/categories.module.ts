import { Feature } from 'petstore/platform';
import { CategoriesController } from './categories.controller.js';
import { CategoriesService } from './categories.service.js';
import { Category } from './category.entity.js';
import { ERRORS } from './categories.errors.js';
import { PERMISSIONS } from './categories.permissions.js';

@Feature({
  name: 'categories',
  tags: { categories: 'The kinds of animals. A new service has ten of them.' },
  entities: [Category],
  permissions: PERMISSIONS,
  errors: ERRORS,
  controllers: [CategoriesController],
  providers: [CategoriesService],
  exports: [CategoriesService],
})
export class CategoriesModule {}
