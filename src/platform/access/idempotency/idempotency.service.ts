import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { ApiError } from '../../api/api-error.js';
import { Batcher } from '../../database/batcher.js';
import { InjectFastRepository } from '../../data/data.module.js';
import { FastRepository } from '../../data/fast-repository.js';
import { AccountClosing } from '../closing/account-closing.js';
import { Sweeps } from '../../data/sweeps.js';
import { settled, Transactions } from '../../data/transactions.js';
import { IdempotencyKey } from './idempotency-key.entity.js';
import { answerIn, columnsOf, type StoredAnswer } from './stored-answer.js';

/** For so many hours an answer is given again. */
export const LIFETIME_HOURS = 24;

/** A write that must happen once: whose it is, under which key, and the hash of the request. */
export interface KeyedRequest {
  accountId: string;
  key: string;
  requestHash: Buffer;
}

/** An answer, and when it was stored; whether that was before, or just now. */
export interface GivenAnswer {
  answer: StoredAnswer;
  createdAt: Date;
  isReplayed: boolean;
}

/** Makes a retried write happen once: its first answer is stored with it, and given again for a while. */
@Injectable()
export class IdempotencyService implements OnApplicationBootstrap {
  private readonly running = new Set<string>();
  /** Looks up stored answers in batches: a thousand retries at once take one query, not every connection. */
  private readonly rows = new Batcher<KeyedRequest, Map<string, IdempotencyKey>>((requests) =>
    this.findAll(requests),
  );

  constructor(
    @InjectFastRepository(IdempotencyKey) private readonly keys: FastRepository<IdempotencyKey>,
    private readonly transactions: Transactions,
    private readonly sweeps: Sweeps,
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
    if (stored) return replayOf(stored);
    // Another retry may have begun while the query was out.
    if (this.running.has(name)) throw new ApiError('idempotency_key_in_use');
    this.running.add(name);
    try {
      return await this.inTransaction(request, write);
    } finally {
      this.running.delete(name);
    }
  }

  /** Stores what interceptors have made of an answer that was stored just now. */
  async update({ accountId, key }: KeyedRequest, createdAt: Date, answer: StoredAnswer): Promise<void> {
    await this.keys.updateRows({ accountId, key, createdAt }, columnsOf(answer, createdAt));
  }

  private async findAll(requests: KeyedRequest[]): Promise<Map<string, IdempotencyKey>> {
    const distinct = [...new Map(requests.map((request) => [nameOf(request), request])).values()];
    const where = distinct.map(({ accountId, key }) => ({ accountId, key }));
    const found = where.length === 1 ? [await this.keys.findRow(where[0]!)] : await this.keys.find({ where });
    return new Map(found.flatMap((row) => (row ? [[nameOf(row), row]] : [])));
  }

  private inTransaction(request: KeyedRequest, write: () => Promise<StoredAnswer>): Promise<GivenAnswer> {
    const { accountId, key, requestHash } = request;
    return this.transactions.run(async () => {
      // Nobody waits for it: while the first one runs, others are turned away at once and hold no connection.
      // In this order: what was stored before the lock was given up is found.
      const locked = this.transactions.tryLock(key, accountId);
      const [isFirst, found] = await settled([locked, this.keys.findRow({ accountId, key })]);
      const stored = answerOf(found, request);
      if (stored) return replayOf(stored);
      if (!isFirst) throw new ApiError('idempotency_key_in_use');
      // It has expired, and may be swept meanwhile.
      if (found) await this.transactions.manager.delete(IdempotencyKey, { accountId, key });
      const answer = await write();
      const createdAt = new Date();
      const values = { requestHash, ...columnsOf(answer, createdAt), createdAt };
      await this.transactions.atCommit(() => this.keys.addRow({ accountId, key, ...values }));
      return { answer, createdAt, isReplayed: false };
    });
  }

  onApplicationBootstrap(): void {
    this.sweeps.start(IdempotencyKey, () => ({ before: { createdAt: expiry() } }));
  }
}

function replayOf(row: IdempotencyKey): GivenAnswer {
  return { answer: answerIn(row), createdAt: row.createdAt, isReplayed: true };
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
  return new Date(Date.now() - LIFETIME_HOURS * 60 * 60 * 1000);
}
