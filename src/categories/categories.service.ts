import { Injectable } from '@nestjs/common';
import type { Page, PageQuery } from '../platform/api/paging.js';
import { InjectFastRepository } from '../platform/data/data.module.js';
import { FastRepository } from '../platform/data/fast-repository.js';
import { violation } from '../platform/data/violations.js';
import type { NewCategoryDto } from './category.dto.js';
import { Category } from './category.entity.js';

@Injectable()
export class CategoriesService {
  constructor(@InjectFastRepository(Category) private readonly categories: FastRepository<Category>) {}

  list({ ...page }: PageQuery): Promise<Page<Category>> {
    return this.categories.page({}, { ...page, releasedFilters: [] });
  }

  /** @throws ApiError `category_exists` */
  create({ name }: NewCategoryDto): Promise<Category> {
    return this.categories.addRow({ name }).catch(violation('categories_name_key', 'category_exists'));
  }

  /** @throws ApiError `category_not_found` */
  get(id: string): Promise<Category> {
    return this.categories.getRow({ id }, 'category_not_found');
  }
}
