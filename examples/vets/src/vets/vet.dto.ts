import { ApiSchema } from '@nestjs/swagger';
import { Int64Field, Int64Param, TextField } from 'petstore/platform';

const NAME = { description: 'Name of the vet, stored as sent.', example: 'Ada', max: 255, blank: false };

@ApiSchema({ name: 'NewVet' })
export class NewVetDto {
  @TextField(NAME)
  name!: string;
}

@ApiSchema({ name: 'Vet' })
export class VetDto {
  @Int64Field({ description: 'Unique identifier, assigned by the service.', example: 1 })
  id!: string;

  @TextField(NAME)
  name!: string;
}

export class VetParams {
  @Int64Param({ description: 'Identifier of the vet.', example: 1 })
  vetId!: string;
}
