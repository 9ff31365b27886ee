import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Injectable } from '@nestjs/common';
import { AccountsService } from './accounts.service.js';
import { ApiKeysService } from './api-keys.service.js';
import { KeyOwners } from './key-owners.js';

/** RFC 2606 reserves `.invalid`, so nobody owns this address. */
const EMAIL = 'demo@petstore.invalid';

/** The key for first steps with a service on its embedded database. The service prints the key at its start. */
@Injectable()
export class DemoKey {
  constructor(
    private readonly accounts: AccountsService,
    private readonly apiKeys: ApiKeysService,
    private readonly owners: KeyOwners,
  ) {}

  /**
   * The key of a data folder. A restart keeps a valid key, so that its users are not interrupted. The folder also
   * contains the database's password, so the key there discloses nothing more.
   */
  async open(folder: string): Promise<string> {
    const file = join(folder, 'demo-key');
    const earlier = existsSync(file) ? readFileSync(file, 'utf8') : '';
    if (await this.owners.find(earlier)) return earlier;
    const key = await this.create();
    writeFileSync(file, key, { mode: 0o600 });
    return key;
  }

  /** Creates a key for an account with an unknown password; revokes earlier demo keys. */
  private async create(): Promise<string> {
    const password = randomBytes(32).toString('hex');
    const { id: accountId } =
      (await this.accounts.findByEmail(EMAIL)) ??
      (await this.accounts.create({ email: EMAIL, password }, { isOperator: true }));
    const by = { accountId, isOperator: true };
    const { items } = await this.apiKeys.list(accountId, { limit: 100 });
    for (const { id } of items) await this.apiKeys.revoke(by, id);
    return (await this.apiKeys.create(by, { name: 'Demo' })).key;
  }
}
