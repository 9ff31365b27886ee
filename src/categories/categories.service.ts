import { Injectable } from '@nestjs/common';
import {
  FastRepository,
  InjectFastRepository,
  Insert,
  insert,
  type Page,
  type PageQuery,
  violation,
} from 'petstore/platform';
import type { NewCategoryDto } from './category.dto.js';
import { Category } from './category.entity.js';

const NAME_TAKEN = violation(Category, 'categories_name_key', 'category_exists');

@Injectable()
export class CategoriesService {
  constructor(@InjectFastRepository(Category) private readonly categories: FastRepository<Category>) {}

  list(page: PageQuery): Promise<Page<Category>> {
    return this.categories.page({}, page);
  }

  /** The `Insert` of a new category, not yet sent. @throws ApiError `category_exists` from its `run` */
  adding({ name }: NewCategoryDto): Insert<Category> {
    return insert(this.categories, { name }).refusing(NAME_TAKEN);
  }

  /** @throws ApiError `category_not_found` */
  get(id: string): Promise<Category> {
    return this.categories.getRow({ id }, 'category_not_found');
  }
}
