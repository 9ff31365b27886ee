import { randomBytes } from 'node:crypto';
import type { INestApplicationContext } from '@nestjs/common';
import { AccountsService } from './accounts.service.js';
import { ApiKeysService } from './api-keys.service.js';

/** RFC 2606 keeps `.invalid` free, so nobody can own this address. */
const EMAIL = 'demo@petstore.invalid';

/** A new key for the first steps, of an account without a known password. Earlier demo keys are revoked. */
export async function createDemoKey(app: INestApplicationContext): Promise<string> {
  const accounts = app.get(AccountsService);
  const apiKeys = app.get(ApiKeysService);
  const password = randomBytes(32).toString('hex');
  const accountId =
    (await accounts.findIdByEmail(EMAIL)) ?? (await accounts.create({ email: EMAIL, password })).id;
  const { items } = await apiKeys.list(accountId, { limit: 100 });
  for (const { id } of items) await apiKeys.revoke(accountId, id);
  return (await apiKeys.create(accountId, { name: 'Demo' })).key;
}
