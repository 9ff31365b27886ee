import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Idempotent,
  Insert,
  Operation,
  type Page,
  PageQuery,
  Reply,
  type ReplyHeaders,
  Stability,
} from 'petstore/platform';
import { CategoriesService } from './categories.service.js';
import { Category } from './category.entity.js';
import { CategoryDto, CategoryParams, NewCategoryDto } from './category.dto.js';

@ApiTags('categories')
@Stability('experimental')
@Controller('categories')
export class CategoriesController {
  constructor(private readonly categories: CategoriesService) {}

  @Get()
  @Operation({
    id: 'listCategories',
    summary: 'List categories',
    description: 'The kinds of animals. All accounts share one catalogue; a fresh store has ten categories.',
    needs: 'categories:read',
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
    needs: 'categories:write',
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
    description: 'Takes an id that `GET /categories` lists.',
    needs: 'categories:read',
    returns: CategoryDto,
    errors: { category_not_found: 404 },
  })
  get(@Param() { categoryId }: CategoryParams): Promise<CategoryDto> {
    return this.categories.get(categoryId);
  }
}
