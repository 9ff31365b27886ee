import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { ApiError } from '../platform/api/api-error.js';
import type { Page, PageQuery } from '../platform/api/paging.js';
import { paginate } from '../platform/data/paginate.js';
import { Transactions } from '../platform/data/transactions.js';
import { violation } from '../platform/data/violations.js';
import type { NewCategoryDto } from './category.dto.js';
import { Category } from './category.entity.js';

@Injectable()
export class CategoriesService {
  constructor(
    @InjectRepository(Category) private readonly categories: Repository<Category>,
    private readonly transactions: Transactions,
  ) {}

  list(page: PageQuery): Promise<Page<Category>> {
    return paginate(this.categories, {}, page);
  }

  /** @throws ApiError `category_exists` */
  async create({ name }: NewCategoryDto): Promise<Category> {
    const category = this.categories.create({ name });
    await this.transactions.manager
      .insert(Category, category)
      .catch(violation('categories_name_key', 'category_exists'));
    return category;
  }

  /** @throws ApiError `category_not_found` */
  async get(id: string): Promise<Category> {
    const category = await this.categories.findOneBy({ id });
    if (!category) throw new ApiError('category_not_found');
    return category;
  }
}
