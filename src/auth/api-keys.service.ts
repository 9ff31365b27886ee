import { Injectable } from '@nestjs/common';
import { ApiError } from '../platform/api/api-error.js';
import type { Page, PageQuery } from '../platform/api/paging.js';
import { InjectFastRepository } from '../platform/data/data.module.js';
import { FastRepository } from '../platform/data/fast-repository.js';
import { broadcast, onBroadcast } from '../platform/process/worker-channel.js';
import { Metrics } from '../platform/telemetry/metrics.js';
import type { NewApiKeyDto } from './api-key.dto.js';
import { ApiKey } from './api-key.entity.js';
import { KeyCache, type KeyOwner } from './key-cache.js';
import { hashSecretKey, isSecretKey, newSecretKey } from './secret-key.js';
import { unauthorized } from './unauthorized.js';

/** The event that is broadcast to the other workers of this service. */
const REVOKED = 'key revoked';

/** The API keys of each account, and the look-up of the account behind a key. */
@Injectable()
export class ApiKeysService {
  private readonly cache = new KeyCache((key) => this.lookUp(key));

  constructor(
    @InjectFastRepository(ApiKey) private readonly apiKeys: FastRepository<ApiKey>,
    metrics: Metrics,
  ) {
    onBroadcast(REVOKED, () => this.cache.clear());
    metrics.counter('petstore_key_lookups_total', 'API keys that were looked up, in memory or not.', () => [
      { labels: { result: 'hit' }, value: this.cache.hits },
      { labels: { result: 'miss' }, value: this.cache.misses },
    ]);
  }

  list(accountId: string, page: PageQuery): Promise<Page<ApiKey>> {
    return this.apiKeys.page({ accountId }, page);
  }

  /** Creates a key. The key itself is returned here and nowhere else. */
  async create(accountId: string, { name, expiresAt }: NewApiKeyDto): Promise<ApiKey & { key: string }> {
    const key = newSecretKey();
    const hash = hashSecretKey(key);
    const apiKey = await this.apiKeys.addRow({ accountId, name, hash, expiresAt: expiresAt ?? null });
    return Object.assign(apiKey, { key });
  }

  /**
   * Deletes a key. This process refuses it at once, the other workers of this service as soon as they are notified, and
   * every other instance within a second.
   * @throws ApiError `api_key_not_found`
   */
  async revoke(accountId: string, id: string): Promise<void> {
    if (!(await this.remove(accountId, id))) throw new ApiError('api_key_not_found');
  }

  /**
   * Deletes the key of a request, as `revoke` does.
   * @throws ApiError `invalid_api_key` if it has been revoked elsewhere within the last second
   */
  async revokeCurrent(accountId: string, id: string): Promise<void> {
    if (!(await this.remove(accountId, id))) throw unauthorized('invalid_api_key');
  }

  /** The owner of a valid key if that is known without a query, else undefined. */
  peekOwner(key: string): KeyOwner | undefined {
    return this.cache.peek(key);
  }

  /** The owner of a valid key; null if it is unknown, mistyped, expired or revoked. */
  async findOwner(key: string): Promise<KeyOwner | null> {
    return isSecretKey(key) ? this.cache.get(key) : null;
  }

  /** Whether the key was there. */
  private async remove(accountId: string, id: string): Promise<boolean> {
    const { affected } = await this.apiKeys.delete({ id, accountId });
    this.cache.clear();
    broadcast(REVOKED);
    return affected === 1;
  }

  private async lookUp(key: string): Promise<KeyOwner | null> {
    const found = await this.apiKeys.findRow({ hash: hashSecretKey(key) });
    const expiresAt = found?.expiresAt?.getTime() ?? Infinity;
    if (!found || expiresAt <= Date.now()) return null;
    return { keyId: found.id, accountId: found.accountId, expiresAt };
  }
}
