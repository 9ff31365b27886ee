import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import {
  Idempotent,
  Insert,
  Operation,
  type Page,
  PageQuery,
  Reply,
  type ReplyHeaders,
  Stability,
  Tag,
} from 'petstore/platform';
import { CategoriesService } from './categories.service.js';
import { Category } from './category.entity.js';
import { CategoryDto, CategoryParams, NewCategoryDto } from './category.dto.js';

@Tag('categories', 'The kinds of animals. A new service has ten of them.')
@Stability('experimental')
@Controller('categories')
export class CategoriesController {
  constructor(private readonly categories: CategoriesService) {}

  @Get()
  @Operation({
    id: 'listCategories',
    summary: 'List categories',
    description: 'The kinds of animals, one catalogue for all accounts. A fresh store has ten.',
    returns: [CategoryDto],
  })
  async list(@Query() query: PageQuery, @Reply() reply: ReplyHeaders): Promise<Page<CategoryDto>> {
    return reply.page(await this.categories.list(query));
  }

  @Post()
  @Idempotent('insert')
  @Operation({
    id: 'createCategory',
    summary: 'Add a category',
    description: 'Its name must be new.',
    returns: CategoryDto,
    status: 201,
    located: true,
    errors: { category_exists: 409 },
  })
  create(@Body() body: NewCategoryDto): Insert<Category> {
    return this.categories.adding(body);
  }

  @Get(':categoryId')
  @Operation({
    id: 'getCategory',
    summary: 'Fetch a category',
    description: 'By its id, as `GET /categories` lists it.',
    returns: CategoryDto,
    errors: { category_not_found: 404 },
  })
  get(@Param() { categoryId }: CategoryParams): Promise<CategoryDto> {
    return this.categories.get(categoryId);
  }
}
