import { ApiSchema } from '@nestjs/swagger';
import {
  type Direction,
  OrderField,
  PageQuery,
  TextField,
  TimestampField,
  UuidField,
} from 'petstore/platform';
import type { Dog } from './dog.entity.js';
import { ID, NAME } from './kennel.dto.js';

@ApiSchema({ name: 'DogV2' })
export class DogV2Dto {
  @UuidField(ID)
  id!: string;

  @TextField({ ...NAME, description: 'Name and breed of the dog.', example: 'Luna, Beagle', max: 202 })
  title!: string;

  @TimestampField({ description: 'When the dog last changed.', example: '2030-01-31T12:00:00.000Z' })
  changedAt!: Date;
}

export class ListDogsQuery extends PageQuery {
  @TimestampField({ description: 'Only dogs that changed at this time or later.', optional: true })
  from?: Date;

  @TimestampField({ description: 'Only dogs that changed before this time.', optional: true })
  to?: Date;

  @OrderField({ by: 'changedAt' })
  order: Direction = 'asc';
}

/** A dog in the form of version 2. */
export function toDogV2({ id, name, breed, updatedAt }: Dog): DogV2Dto {
  return { id, title: `${name}, ${breed}`, changedAt: updatedAt };
}
