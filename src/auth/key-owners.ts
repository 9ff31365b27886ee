import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { FastRepository, InjectFastRepository, Metrics } from 'petstore/platform';
import type { Actor } from '../platform/api/index.js';
import { broadcast, onBroadcast } from '../platform/process/index.js';
import { Account } from './account.entity.js';
import { ApiKey } from './api-key.entity.js';
import { granted } from './granted.js';
import { Identities } from './identities.js';
import { type Network, networksOf } from './networks.js';
import { hashSecret, isSecret, KEYS } from './secret.js';

/** The account behind a valid key, or behind an access token of the identity provider. */
export interface KeyOwner {
  /** None of a token. */
  keyId?: string;
  accountId: string;
  /** What the key or token may do: those of its permissions that its account has too; undefined stands for everything. */
  permissions?: ReadonlySet<string>;
  /** Where it may be used from; undefined stands for everywhere. */
  networks?: readonly Network[];
  /** Milliseconds since 1970; Infinity if it does not expire. */
  expiresAt: number;
}

interface Entry {
  owner: KeyOwner;
  /** Value of `performance.now()` from which the entry is stale. */
  until: number;
}

/**
 * Less than a second, so that every instance refuses a revoked key within a second without being notified. Counted from
 * before the query, so a slow database does not extend it.
 */
const KEY_LIFETIME_MS = 800;
const MAX_ENTRIES = 10_000;
/** Of all keys and tokens together, of which a token may have 8,192. */
const MAX_CHARACTERS = 16 * 1024 * 1024;

function newEntries(): LRUCache<string, Entry> {
  return new LRUCache({ max: MAX_ENTRIES, maxSize: MAX_CHARACTERS, sizeCalculation: (_, key) => key.length });
}

/** Valid keys looked up recently: a busy key costs one query a second, not one a request. */
export class KeyCache {
  /** Keys that were found without a query of their own, and those that were not, since the start. */
  hits = 0;
  misses = 0;
  private entries = newEntries();
  private pending = new Map<string, { query: Promise<KeyOwner | null>; until: number }>();

  constructor(private readonly lookUp: (key: string, actor: Actor) => Promise<KeyOwner | null>) {}

  /** The owner if the key is known without a query, else undefined. */
  peek(key: string): KeyOwner | undefined {
    const entry = this.entries.get(key);
    if (!entry || performance.now() >= entry.until || Date.now() >= entry.owner.expiresAt) return undefined;
    this.hits++;
    return entry.owner;
  }

  /** The owner, by one query for all requests that ask at the same time; null if the key is not valid. */
  async get(key: string, actor: Actor = {}): Promise<KeyOwner | null> {
    const known = this.peek(key);
    if (known) return known;
    const pending = this.pending.get(key);
    if (!pending || performance.now() >= pending.until) return this.load(key, actor);
    this.hits++;
    return pending.query;
  }

  /** Forgets every key, and keeps look-ups under way from being cached. */
  clear(): void {
    this.entries = newEntries();
    this.pending = new Map();
  }

  private async load(key: string, actor: Actor): Promise<KeyOwner | null> {
    const { entries, pending } = this;
    this.misses++;
    const until = performance.now() + KEY_LIFETIME_MS;
    const query = this.lookUp(key, actor);
    const look = { query, until };
    pending.set(key, look);
    try {
      const owner = await query;
      if (owner) entries.set(key, { owner, until });
      return owner;
    } finally {
      if (pending.get(key) === look) pending.delete(key);
    }
  }
}

/** The event that is broadcast to the other workers of this service. */
const CHANGED = 'keys changed';
const HOUR_MS = 60 * 60 * 1000;

/** Who is behind a key, and what it may do. */
@Injectable()
export class KeyOwners {
  private readonly cache = new KeyCache((key, actor) =>
    this.identities.isToken(key) ? this.lookUpToken(key, actor) : this.lookUp(key),
  );

  constructor(
    @InjectFastRepository(ApiKey) private readonly apiKeys: FastRepository<ApiKey>,
    @InjectFastRepository(Account) private readonly accounts: FastRepository<Account>,
    private readonly identities: Identities,
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

  /** Whether it is an access token of the identity provider, if any, and no API key. */
  isToken(key: string): boolean {
    return this.identities.isToken(key);
  }

  /**
   * The owner of a valid key; null if it is unknown, mistyped, expired or revoked.
   * @param actor the sender: an access token may make an account
   * @throws ApiError for an access token that is refused, as `Identities.read` does
   */
  async find(key: string, actor: Actor = {}): Promise<KeyOwner | null> {
    return isSecret(KEYS, key) || this.isToken(key) ? this.cache.get(key, actor) : null;
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

  private async lookUpToken(token: string, actor: Actor): Promise<KeyOwner> {
    const { account, permissions: ofToken, expiresAt } = await this.identities.read(token, actor);
    const permissions = granted([...ofToken], account.permissions);
    return { accountId: account.id, permissions, expiresAt };
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
