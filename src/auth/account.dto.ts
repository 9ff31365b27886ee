import { ApiSchema } from '@nestjs/swagger';
import {
  BooleanField,
  ChangeSchema,
  EmailField,
  Int64Field,
  TextField,
  TimestampField,
} from 'petstore/platform';
import { GrantedField } from './granted.js';

const EMAIL = { description: 'Email address; no two accounts share one.', example: 'ada@example.com' };
const PASSWORD = {
  description: 'Password.',
  example: 'correct horse battery',
  min: 12,
  max: 128,
  secret: true,
};

@ApiSchema({ name: 'NewAccount' })
export class NewAccountDto {
  @EmailField(EMAIL)
  email!: string;

  @TextField(PASSWORD)
  password!: string;

  @TextField({
    description: 'Code of an invitation, if signing up needs one. Each code is good for one account.',
    max: 255,
    secret: true,
    optional: true,
  })
  invitation?: string;
}

@ApiSchema({ name: 'Account' })
export class AccountDto {
  @Int64Field({ description: 'Identifier of the account.', example: 1 })
  id!: string;

  @EmailField(EMAIL)
  email!: string;

  @TimestampField({ description: 'When the account was created.', example: '2026-11-21T12:00:00.000Z' })
  createdAt!: Date;
}

/** An account as a command lists it. */
export class ListedAccountDto extends AccountDto {
  @TextField({ description: 'The issuer of the identity provider.', max: 1_000, optional: true })
  issuer?: string;

  @TextField({
    description: 'The owner of the account: the claim `sub` in tokens of the issuer.',
    max: 255,
    optional: true,
  })
  subject?: string;
}

@ApiSchema({ name: 'CurrentAccount' })
export class CurrentAccountDto extends AccountDto {
  @GrantedField({
    description: 'Permissions that keys of the account can have. Modules may add permissions.',
    example: ['pets:read', 'pets:write'],
  })
  permissions!: string[];
}

/** An invitation in the output of a command. The command that creates it also shows the code, once. */
export class InvitationDto {
  @Int64Field({ description: 'Identifier of the invitation.', example: 7 })
  id!: string;

  @TimestampField({ description: 'When the invitation was created.', example: '2026-11-21T12:00:00.000Z' })
  createdAt!: Date;

  @TimestampField({ description: 'When the invitation expires; absent if it never does.', optional: true })
  expiresAt?: Date | null;
}

@ChangeSchema('AccountChange')
export class AccountChangeDto {
  @EmailField({ ...EMAIL, optional: true })
  email?: string;

  @TextField({ ...PASSWORD, optional: true })
  password?: string;

  @BooleanField({ description: 'Whether to revoke all API keys.', optional: true })
  revokeKeys = false;
}
