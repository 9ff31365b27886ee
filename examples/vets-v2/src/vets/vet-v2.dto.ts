import { ApiSchema } from '@nestjs/swagger';
import { Int64Field, TextField } from 'petstore/platform';
import type { Vet } from './vet.entity.js';

const FULL_NAME = {
  description: 'Full name of the vet, stored as sent.',
  example: 'Ada',
  max: 255,
  blank: false,
};

@ApiSchema({ name: 'NewVetV2' })
export class NewVetV2Dto {
  @TextField(FULL_NAME)
  fullName!: string;
}

@ApiSchema({ name: 'VetV2' })
export class VetV2Dto {
  @Int64Field({ description: 'Unique identifier, assigned by the service.', example: 1 })
  id!: string;

  @TextField(FULL_NAME)
  fullName!: string;
}

/** A vet as version 2 shows it. */
export function toVetV2({ id, name }: Vet): VetV2Dto {
  return { id, fullName: name };
}
