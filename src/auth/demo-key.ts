import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { AccountsService } from './accounts.service.js';
import { ApiKeysService } from './api-keys.service.js';

/** RFC 2606 reserves `.invalid`, so nobody can own this address. */
const EMAIL = 'demo@petstore.invalid';

/** The key for first steps, which a service with an embedded database creates at each start. */
@Injectable()
export class DemoKey {
  /** Undefined if none was created. */
  value?: string;

  constructor(
    private readonly accounts: AccountsService,
    private readonly apiKeys: ApiKeysService,
  ) {}

  /** Creates a key, for an account whose password nobody knows. Earlier demo keys are revoked. */
  async create(): Promise<string> {
    const password = randomBytes(32).toString('hex');
    const accountId =
      (await this.accounts.findIdByEmail(EMAIL)) ??
      (await this.accounts.create({ email: EMAIL, password })).id;
    const { items } = await this.apiKeys.list(accountId, { limit: 100 });
    for (const { id } of items) await this.apiKeys.revoke(accountId, id);
    this.value = (await this.apiKeys.create(accountId, { name: 'Demo' })).key;
    return this.value;
  }
}
