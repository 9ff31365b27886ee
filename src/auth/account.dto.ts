import { ApiSchema } from '@nestjs/swagger';
import { EmailField, Int64Field, TextField, TimestampField } from '../platform/api/fields.js';

/** Heading of the operations on accounts and on their keys. */
export const ACCOUNTS_TAG: [name: string, description: string] = [
  'accounts',
  'Create an account, and the API keys that every other operation needs.',
];

const EMAIL = { description: 'Email address; no two accounts share one.', example: 'ada@example.com' };

@ApiSchema({ name: 'NewAccount' })
export class NewAccountDto {
  @EmailField(EMAIL)
  email!: string;

  @TextField({ description: 'Password.', example: 'correct horse battery', min: 12, max: 128, secret: true })
  password!: string;
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
