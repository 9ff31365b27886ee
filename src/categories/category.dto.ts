import { ApiSchema } from '@nestjs/swagger';
import { Int64Field, Int64Param, TextField } from 'petstore/platform';

@ApiSchema({ name: 'NewCategory' })
export class NewCategoryDto {
  @TextField({
    description: 'Unique name of the category.',
    example: 'Ferrets',
    max: 255,
    blank: false,
  })
  name!: string;
}

@ApiSchema({ name: 'Category' })
export class CategoryDto {
  @Int64Field({ description: 'Identifier of the category.', example: 1 })
  id!: string;

  @TextField({
    description: 'Unique name of the category.',
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
