import { ApiSchema } from '@nestjs/swagger';
import { Int64Field, Int64Param, ListField, TextField } from 'petstore/platform';
import { SpecialtyDto } from './specialty.dto.js';

const FIRST_NAME = { description: 'First name.', example: 'Helen', max: 30, blank: false };
const LAST_NAME = { description: 'Last name.', example: 'Leary', max: 30, blank: false };

@ApiSchema({ name: 'NewVet' })
export class NewVetDto {
  @TextField(FIRST_NAME)
  firstName!: string;

  @TextField(LAST_NAME)
  lastName!: string;

  @ListField({
    description: 'Identifiers of what the vet is good at.',
    of: Int64Field({ description: 'Identifier of a specialty.', example: 1 }),
    max: 10,
    unique: true,
  })
  specialtyIds!: string[];
}

@ApiSchema({ name: 'Vet' })
export class VetDto {
  @Int64Field({ description: 'Unique identifier, assigned by the service.', example: 1 })
  id!: string;

  @TextField(FIRST_NAME)
  firstName!: string;

  @TextField(LAST_NAME)
  lastName!: string;

  @ListField({ description: 'What the vet is good at.', of: SpecialtyDto, max: 10 })
  specialties!: SpecialtyDto[];
}

export class VetParams {
  @Int64Param({ description: 'Identifier of the vet.', example: 1 })
  vetId!: string;
}
