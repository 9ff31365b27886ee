import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type BeforeApplicationShutdown,
} from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { ApiError } from '../../api/api-error.js';
import { Batcher } from '../../database/batcher.js';
import { InjectFastRepository } from '../../data/data.module.js';
import { FastRepository } from '../../data/fast-repository.js';
import { AccountClosing } from '../closing/account-closing.js';
import { sweep } from '../../data/sweep.js';
import { Transactions } from '../../data/transactions.js';
import { IdempotencyKey } from './idempotency-key.entity.js';
import type { GivenAnswer, StoredAnswer } from './stored-answer.js';

const LIFETIME_MS = 24 * 60 * 60 * 1000;
const SWEEP_INTERVAL_MS = 10 * 60 * 1000;

/** A write that must happen once: whose it is, under which key, and the hash of the request. */
interface KeyedRequest {
  accountId: string;
  key: string;
  requestHash: Buffer;
}

/** Makes a retried write happen once: its first answer is stored with it, and given again for a day. */
@Injectable()
export class IdempotencyService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(IdempotencyService.name);
  private readonly running = new Set<string>();
  /** Looks up stored answers in batches: a thousand retries at once take one query, not every connection. */
  private readonly rows = new Batcher<KeyedRequest, Map<string, IdempotencyKey>>((requests) =>
    this.findAll(requests),
  );
  private sweeper?: NodeJS.Timeout;
  private sweeping?: Promise<void>;
  private readonly stopping = new AbortController();

  constructor(
    @InjectFastRepository(IdempotencyKey) private readonly keys: FastRepository<IdempotencyKey>,
    private readonly transactions: Transactions,
    private readonly database: DataSource,
    closing: AccountClosing,
  ) {
    closing.erases(IdempotencyKey);
  }

  /**
   * Runs a write and stores its answer, both in one transaction, or else gives the answer that is stored. A write that
   * fails stores nothing, so it can be tried again.
   * @throws ApiError `idempotency_key_in_use`, `idempotency_key_reused`, or what the write throws
   */
  async once(request: KeyedRequest, write: () => Promise<StoredAnswer>): Promise<GivenAnswer> {
    // A retry that comes to the same process is turned away without the database; `lock` is for those to other processes.
    const name = nameOf(request);
    if (this.running.has(name)) throw new ApiError('idempotency_key_in_use');
    const stored = answerOf((await this.rows.add(request)).get(name), request);
    if (stored) return { answer: stored, isReplayed: true };
    // Another retry may have begun while the query was out.
    if (this.running.has(name)) throw new ApiError('idempotency_key_in_use');
    this.running.add(name);
    try {
      return await this.inTransaction(request, write);
    } finally {
      this.running.delete(name);
    }
  }

  private async findAll(requests: KeyedRequest[]): Promise<Map<string, IdempotencyKey>> {
    const distinct = [...new Map(requests.map((request) => [nameOf(request), request])).values()];
    const where = distinct.map(({ accountId, key }) => ({ accountId, key }));
    const found = where.length === 1 ? [await this.keys.findRow(where[0]!)] : await this.keys.find({ where });
    return new Map(found.flatMap((row) => (row ? [[nameOf(row), row]] : [])));
  }

  private inTransaction(request: KeyedRequest, write: () => Promise<StoredAnswer>): Promise<GivenAnswer> {
    return this.transactions.run(async (transaction) => {
      const isFirst = await lock(transaction, request);
      const { accountId, key, requestHash } = request;
      const stored = answerOf(await this.keys.findRow({ accountId, key }), request);
      if (stored) return { answer: stored, isReplayed: true };
      if (!isFirst) throw new ApiError('idempotency_key_in_use');
      const answer = await write();
      // Only a row that has expired can be in the way.
      await transaction.upsert(
        IdempotencyKey,
        { accountId, key, requestHash, ...answer, createdAt: new Date() },
        ['accountId', 'key'],
      );
      return { answer, isReplayed: false };
    });
  }

  /** Sweeps at once, and then at intervals. */
  onApplicationBootstrap(): void {
    this.sweeping = this.sweep();
    this.sweeper = setInterval(() => (this.sweeping = this.sweep()), SWEEP_INTERVAL_MS).unref();
  }

  /** Before the connections are closed, which a sweep that is under way still needs. */
  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.sweeper);
    this.stopping.abort();
    await this.sweeping;
  }

  /** Deletes what has expired. Every instance may do so at any time. */
  private async sweep(): Promise<void> {
    // One that takes longer than the interval is still under way.
    await this.sweeping;
    try {
      await sweep(this.database, IdempotencyKey, { before: { createdAt: expiry() } }, this.stopping.signal);
    } catch (error) {
      this.logger.warn(`Expired idempotency keys were not swept: ${(error as Error).message}`);
    }
  }
}

/**
 * Whether this is the only request with its key, until the transaction ends. It is asked for without waiting: while the
 * first one runs, others are turned away at once and hold no connection.
 */
async function lock(transaction: EntityManager, { accountId, key }: KeyedRequest): Promise<boolean> {
  const sql = 'SELECT pg_try_advisory_xact_lock(hashtextextended($1, $2::bigint)) AS locked';
  const [{ locked }] = await transaction.query<[{ locked: boolean }]>(sql, [key, accountId]);
  return locked;
}

function nameOf({ accountId, key }: Pick<KeyedRequest, 'accountId' | 'key'>): string {
  return `${accountId} ${key}`;
}

/** @throws ApiError `idempotency_key_reused` where it is the answer to another request */
function answerOf(
  stored: IdempotencyKey | null | undefined,
  { requestHash }: KeyedRequest,
): IdempotencyKey | undefined {
  if (!stored || stored.createdAt <= expiry()) return undefined;
  if (!requestHash.equals(stored.requestHash)) throw new ApiError('idempotency_key_reused');
  return stored;
}

function expiry(): Date {
  return new Date(Date.now() - LIFETIME_MS);
}
