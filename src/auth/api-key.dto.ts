import { ApiSchema } from '@nestjs/swagger';
import {
  ChangeSchema,
  Int64Field,
  Int64Param,
  IntegerField,
  TextField,
  TimestampField,
} from 'petstore/platform';
import { NetworksField } from './networks.js';
import { GrantedField, PermissionsField } from './granted.js';

const NAME = { description: 'What the key is for.', example: 'My first key', max: 255, blank: false };
const EXPIRES_AT = {
  description: 'When the key expires, a time in the future; a key without `expiresAt` never expires.',
  optional: true,
};
const NETWORKS = {
  description:
    'Addresses, and networks in CIDR notation, from which the key may be used; from any other address it is refused. A key without `networks` may be used from anywhere.',
  optional: true,
};
/** Seven days, in seconds. */
const MAX_OVERLAP = 604_800;

@ApiSchema({ name: 'NewApiKey' })
export class NewApiKeyDto {
  @TextField(NAME)
  name!: string;

  @TimestampField({ ...EXPIRES_AT, future: true })
  expiresAt?: Date;

  @PermissionsField({
    description: 'Permissions of the key; without a list, all permissions of its account, now and later.',
    optional: true,
  })
  permissions?: string[];

  @NetworksField(NETWORKS)
  networks?: string[];
}

@ChangeSchema('ApiKeyChange')
export class ApiKeyChangeDto {
  @TextField({ ...NAME, example: 'My renamed key', optional: true })
  name?: string;

  @TimestampField({
    description: 'When the key expires, a time in the future; `null` for never.',
    optional: true,
    nullable: true,
    future: true,
  })
  expiresAt?: Date | null;

  @PermissionsField({ description: 'The new permissions of the key.', optional: true })
  permissions?: string[];

  @NetworksField({
    description: 'The new addresses and networks from which the key may be used; `null` for anywhere.',
    optional: true,
    nullable: true,
  })
  networks?: string[] | null;
}

@ApiSchema({ name: 'ApiKeyRoll' })
export class ApiKeyRollDto {
  @IntegerField({
    description: 'Seconds for which the old key stays valid, unless it expires sooner.',
    example: 3_600,
    min: 0,
    max: MAX_OVERLAP,
    optional: true,
  })
  overlapSeconds = 0;
}

@ApiSchema({ name: 'ApiKey' })
export class ApiKeyDto {
  @Int64Field({ description: 'Identifier of the key.', example: 1 })
  id!: string;

  @TextField(NAME)
  name!: string;

  @GrantedField({
    description: 'Permissions of the key that its account has too. Modules may add permissions.',
    example: ['pets:read', 'pets:write'],
  })
  permissions!: string[];

  @TimestampField({ description: 'When the key was created.', example: '2026-11-21T12:00:00.000Z' })
  createdAt!: Date;

  @TimestampField({
    description:
      "Start of the hour of the key's last use, so possibly before the key's creation; absent if the key was never used.",
    optional: true,
  })
  lastUsedAt?: Date | null;

  @TimestampField(EXPIRES_AT)
  expiresAt?: Date | null;

  @NetworksField(NETWORKS)
  networks?: string[] | null;
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
