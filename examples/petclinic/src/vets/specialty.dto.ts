import { ApiSchema } from '@nestjs/swagger';
import { Int64Field, Int64Param, TextField } from 'petstore/platform';

const NAME = { description: 'Name of the specialty.', example: 'radiology', max: 80, blank: false };

@ApiSchema({ name: 'NewSpecialty' })
export class NewSpecialtyDto {
  @TextField(NAME)
  name!: string;
}

@ApiSchema({ name: 'Specialty' })
export class SpecialtyDto {
  @Int64Field({ description: 'Unique identifier, assigned by the service.', example: 1 })
  id!: string;

  @TextField(NAME)
  name!: string;
}

export class SpecialtyParams {
  @Int64Param({ description: 'Identifier of the specialty.', example: 1 })
  specialtyId!: string;
}
