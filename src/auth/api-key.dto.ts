import { ApiSchema } from '@nestjs/swagger';
import { Int64Field, TextField, TimestampField } from '../platform/api/fields.js';
import { Int64Param } from '../platform/api/params.js';

const NAME = { description: 'What the key is for.', example: 'My first key', max: 255, blank: false };
const EXPIRES_AT = {
  description: 'When the key expires, in the future; a key without it does not expire.',
  optional: true,
};

@ApiSchema({ name: 'NewApiKey' })
export class NewApiKeyDto {
  @TextField(NAME)
  name!: string;

  @TimestampField({ ...EXPIRES_AT, future: true })
  expiresAt?: Date;
}

@ApiSchema({ name: 'ApiKey' })
export class ApiKeyDto {
  @Int64Field({ description: 'Identifier of the key.', example: 1 })
  id!: string;

  @TextField(NAME)
  name!: string;

  @TimestampField({ description: 'When the key was created.', example: '2026-11-21T12:00:00.000Z' })
  createdAt!: Date;

  @TimestampField(EXPIRES_AT)
  expiresAt?: Date | null;
}

@ApiSchema({ name: 'CreatedApiKey' })
export class CreatedApiKeyDto extends ApiKeyDto {
  @TextField({
    description: 'The key itself, shown only this once: only its hash is stored.',
    example: 'petstore_8f14e45fceea167a5a36dedd4bea2543c9f0f895e2a9d1c4',
    max: 57,
  })
  key!: string;
}

export class ApiKeyParams {
  @Int64Param({ description: 'Identifier of the key.', example: 1 })
  keyId!: string;
}
