import { LRUCache } from 'lru-cache';
import type { Network } from './networks.js';

/** The account behind a valid key. */
export interface KeyOwner {
  keyId: string;
  accountId: string;
  /** What the key may do: those of its permissions that its account has too; undefined stands for everything. */
  permissions?: ReadonlySet<string>;
  /** Where it may be used from; undefined stands for everywhere. */
  networks?: readonly Network[];
  /** Milliseconds since 1970; Infinity if the key does not expire. */
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
const LIFETIME_MS = 800;
const MAX_ENTRIES = 10_000;

/** Valid keys looked up recently: a busy key costs one query a second, not one a request. */
export class KeyCache {
  /** Keys that were found without a query of their own, and those that were not, since the start. */
  hits = 0;
  misses = 0;
  private entries = new LRUCache<string, Entry>({ max: MAX_ENTRIES });
  private pending = new Map<string, { query: Promise<KeyOwner | null>; until: number }>();

  constructor(private readonly lookUp: (key: string) => Promise<KeyOwner | null>) {}

  /** The owner if the key is known without a query, else undefined. */
  peek(key: string): KeyOwner | undefined {
    const entry = this.entries.get(key);
    if (!entry || performance.now() >= entry.until || Date.now() >= entry.owner.expiresAt) return undefined;
    this.hits++;
    return entry.owner;
  }

  /** The owner, by one query for all requests that ask at the same time; null if the key is not valid. */
  async get(key: string): Promise<KeyOwner | null> {
    const known = this.peek(key);
    if (known) return known;
    const pending = this.pending.get(key);
    if (!pending || performance.now() >= pending.until) return this.load(key);
    this.hits++;
    return pending.query;
  }

  /** Forgets every key, and keeps look-ups under way from being cached. */
  clear(): void {
    this.entries = new LRUCache({ max: MAX_ENTRIES });
    this.pending = new Map();
  }

  private async load(key: string): Promise<KeyOwner | null> {
    const { entries, pending } = this;
    this.misses++;
    const until = performance.now() + LIFETIME_MS;
    const query = this.lookUp(key);
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
