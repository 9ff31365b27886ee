import { ApiSchema } from '@nestjs/swagger';
import {
  type Direction,
  EnumField,
  Int64Field,
  Int64Param,
  ListParam,
  OrderField,
  PageQuery,
  TextField,
} from 'petstore/platform';
import { PetStatus } from './pet.entity.js';

const PET_STATUS = {
  name: 'PetStatus',
  values: {
    [PetStatus.Available]: 'The animal can be ordered.',
    [PetStatus.Pending]: 'An order for the animal is open.',
    [PetStatus.Sold]: 'The animal has been delivered to its new owner.',
  },
};

const NAME = { description: "The animal's name, stored as sent.", example: 'Luna', max: 255, blank: false };
const CATEGORY_ID = { description: 'Identifier of the category the animal belongs to.', example: 2 };
const STATUS = {
  description: 'Availability. No default.',
  example: 'available',
  optional: true,
  ...PET_STATUS,
};

@ApiSchema({ name: 'NewPet' })
export class NewPetDto {
  @TextField(NAME)
  name!: string;

  @Int64Field(CATEGORY_ID)
  categoryId!: string;

  @EnumField(STATUS)
  status?: PetStatus;
}

@ApiSchema({ name: 'Pet' })
export class PetDto {
  @Int64Field({ description: 'Unique identifier, assigned by the service.', example: 1 })
  id!: string;

  @TextField(NAME)
  name!: string;

  @Int64Field(CATEGORY_ID)
  categoryId!: string;

  @EnumField(STATUS)
  status?: PetStatus | null;
}

export class PetParams {
  @Int64Param({ description: 'Identifier of the animal.', example: 1 })
  petId!: string;
}

export class ListPetsQuery extends PageQuery {
  @EnumField({ description: 'Only animals with this availability.', optional: true, ...PET_STATUS })
  status?: PetStatus;

  @Int64Param({ description: 'Only animals of this category.', example: 2, optional: true })
  categoryId?: string;

  @ListParam({
    description: 'Only the animals with these ids, 1 to 100 of them; unknown ids are ignored.',
    of: Int64Param({ description: '' }),
    optional: true,
    max: 100,
  })
  ids?: string[];

  @OrderField({ by: 'id' })
  order: Direction = 'asc';
}
