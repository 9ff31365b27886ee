import { Injectable } from '@nestjs/common';
import { FastRepository, InjectFastRepository, Metrics } from 'petstore/platform';
import { broadcast, onBroadcast } from '../platform/process/index.js';
import { Account } from './account.entity.js';
import { ApiKey } from './api-key.entity.js';
import { granted } from './granted.js';
import { KeyCache, type KeyOwner } from './key-cache.js';
import { networksOf } from './networks.js';
import { hashSecret, isSecret, KEYS } from './secret.js';

/** The event that is broadcast to the other workers of this service. */
const CHANGED = 'keys changed';
const HOUR_MS = 60 * 60 * 1000;

/** Who is behind a key, and what it may do. */
@Injectable()
export class KeyOwners {
  private readonly cache = new KeyCache((key) => this.lookUp(key));

  constructor(
    @InjectFastRepository(ApiKey) private readonly apiKeys: FastRepository<ApiKey>,
    @InjectFastRepository(Account) private readonly accounts: FastRepository<Account>,
    metrics: Metrics,
  ) {
    onBroadcast(CHANGED, () => this.cache.clear());
    metrics.counter('petstore_key_lookups_total', 'API keys that were looked up, in memory or not.', () => [
      { labels: { result: 'hit' }, value: this.cache.hits },
      { labels: { result: 'miss' }, value: this.cache.misses },
    ]);
  }

  /** The owner of a valid key if that is known without a query, else undefined. */
  peek(key: string): KeyOwner | undefined {
    return this.cache.peek(key);
  }

  /** The owner of a valid key; null if it is unknown, mistyped, expired or revoked. */
  async find(key: string): Promise<KeyOwner | null> {
    return isSecret(KEYS, key) ? this.cache.get(key) : null;
  }

  /**
   * To be called when a change of keys, or of what their account may do, has been committed: it then counts at once in
   * this process, in the other workers of this service as soon as they are notified, and in every other instance within a
   * second.
   */
  forget(): void {
    this.cache.clear();
    broadcast(CHANGED);
  }

  private async lookUp(key: string): Promise<KeyOwner | null> {
    const found = await this.apiKeys.findRow({ hash: hashSecret(key) });
    const expiresAt = found?.expiresAt?.getTime() ?? Infinity;
    if (!found || expiresAt <= Date.now()) return null;
    const account = await this.accounts.findRow({ id: found.accountId });
    if (!account) return null;
    this.noteUse(found);
    const permissions = granted(found.permissions, account.permissions);
    const networks = networksOf(found.networks);
    return { keyId: found.id, accountId: found.accountId, permissions, networks, expiresAt };
  }

  /** Once an hour for each key. No request waits for it, or fails with it: that hour may have another. */
  private noteUse({ id, lastUsedAt }: ApiKey): void {
    const hour = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS);
    if (lastUsedAt && lastUsedAt >= hour) return;
    this.apiKeys.updateRows({ id }, { lastUsedAt: hour }).catch(() => {});
  }
}
