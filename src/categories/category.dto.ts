import { ApiSchema } from '@nestjs/swagger';
import { Int64Field, TextField } from '../common/fields.js';
import { Int64Param } from '../common/params.js';
import { int64, type RawJson } from '../common/json.js';
import type { Category } from './category.entity.js';

@ApiSchema({ name: 'NewCategory' })
export class NewCategoryDto {
  @TextField({
    description: 'Name of the category; no two are alike.',
    example: 'Ferrets',
    max: 255,
    blank: false,
  })
  name!: string;
}

@ApiSchema({ name: 'Category' })
export class CategoryDto {
  @Int64Field({ description: 'Identifier of the category.', example: 1 })
  id!: RawJson;

  @TextField({
    description: 'Name of the category; no two are alike.',
    example: 'Cats',
    max: 255,
    blank: false,
  })
  name!: string;
}

export class CategoryParams {
  @Int64Param({ description: 'Identifier of the category.', example: 1 })
  categoryId!: string;
}

export function toCategoryDto({ id, name }: Category): CategoryDto {
  return { id: int64(id), name };
}
