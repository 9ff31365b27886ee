import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { FastRepository, InjectFastRepository } from 'petstore/platform';
import type { Actor } from '../platform/api/index.js';
import { Account } from './account.entity.js';
import { ApiKey } from './api-key.entity.js';
import { granted } from './granted.js';
import { Identities } from './identities.js';
import { type Networks, networksOf } from './networks.js';
import { hashSecret, isSecret, KEYS } from './secret.js';

/** The account of a valid key, or of an access token of the identity provider. */
export interface KeyOwner {
  /** Undefined for an access token. */
  keyId?: string;
  accountId: string;
  /** Permissions that both the key or token and its account have; undefined for all. */
  permissions?: ReadonlySet<string>;
  /** Networks that may use the key; undefined for all. */
  networks?: Networks;
  /** Milliseconds since 1970; Infinity if the key does not expire. */
  expiresAt: number;
}

interface Entry {
  owner: KeyOwner;
  /** Value of `performance.now()` from which the entry is stale. */
  until: number;
}

/** Counted from before the query: without notifications, every instance must refuse a revoked key within a second. */
const KEY_LIFETIME_MS = 800;
const MAX_ENTRIES = 10_000;
/** Limit for all cached keys and tokens together; a token may have 8,192 characters. */
const MAX_CHARACTERS = 16 * 1024 * 1024;

/** Caches valid keys: a busy key costs one query per second instead of one per request. */
class KeyCache {
  private readonly entries: LRUCache<string, Entry> = new LRUCache({
    max: MAX_ENTRIES,
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (_, key) => key.length,
  });
  private pending = new Map<string, { query: Promise<KeyOwner | null>; until: number }>();

  constructor(private readonly lookUp: (key: string, actor: Actor) => Promise<KeyOwner | null>) {}

  peek(key: string): KeyOwner | undefined {
    const entry = this.entries.get(key);
    const isStale = !entry || performance.now() >= entry.until || Date.now() >= entry.owner.expiresAt;
    return isStale ? undefined : entry.owner;
  }

  /** The owner, by one query for all simultaneous requests; null for an invalid key. */
  async get(key: string, actor: Actor = {}): Promise<KeyOwner | null> {
    const cached = this.peek(key);
    if (cached) return cached;
    const pending = this.pending.get(key);
    return pending && performance.now() < pending.until ? pending.query : this.load(key, actor);
  }

  /** Removes the keys of an account. Results of running look-ups, of any account, are not cached. */
  forget(accountId: string): void {
    for (const [key, { owner }] of this.entries.entries())
      if (owner.accountId === accountId) this.entries.delete(key);
    this.pending = new Map();
  }

  private async load(key: string, actor: Actor): Promise<KeyOwner | null> {
    const { pending } = this;
    const until = performance.now() + KEY_LIFETIME_MS;
    const query = this.lookUp(key, actor);
    const entry = { query, until };
    pending.set(key, entry);
    try {
      const owner = await query;
      if (owner && pending === this.pending) this.entries.set(key, { owner, until });
      return owner;
    } finally {
      if (pending.get(key) === entry) pending.delete(key);
    }
  }
}

const HOUR_MS = 60 * 60 * 1000;

/** The owner of each key, with its permissions. */
@Injectable()
export class KeyOwners {
  private readonly cache = new KeyCache((key, actor) =>
    this.identities.isToken(key) ? this.lookUpToken(key, actor) : this.lookUp(key),
  );

  constructor(
    @InjectFastRepository(ApiKey) private readonly apiKeys: FastRepository<ApiKey>,
    @InjectFastRepository(Account) private readonly accounts: FastRepository<Account>,
    private readonly identities: Identities,
  ) {}

  /** The owner of a cached valid key, else undefined. */
  peek(key: string): KeyOwner | undefined {
    return this.cache.peek(key);
  }

  /** Whether a key is an access token of the identity provider, and no API key. */
  isToken(key: string): boolean {
    return this.identities.isToken(key);
  }

  /**
   * The owner of a valid key; null if the key is unknown, mistyped, expired or revoked.
   * @param actor the sender: an access token may create an account
   * @throws ApiError for a refused access token, as `Identities.read` does
   */
  async find(key: string, actor: Actor = {}): Promise<KeyOwner | null> {
    return isSecret(KEYS, key) || this.isToken(key) ? this.cache.get(key, actor) : null;
  }

  /**
   * Call once a change of keys, or of their account's permissions, is committed: the change takes effect at once in this
   * process, and within a second in every other one.
   */
  forget(accountId: string): void {
    this.cache.forget(accountId);
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

  /** Records a use, once an hour for each key. No request waits for the write; a later use repeats a failed one. */
  private noteUse({ id, lastUsedAt }: ApiKey): void {
    const hour = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS);
    if (lastUsedAt && lastUsedAt >= hour) return;
    this.apiKeys.updateRows({ id }, { lastUsedAt: hour }).catch(() => {});
  }
}
