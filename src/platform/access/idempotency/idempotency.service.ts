import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { PoolClient } from 'pg';
import { type EntityManager, LessThanOrEqual } from 'typeorm';
import { ApiError } from '../../api/index.js';
import {
  FastRepository,
  InjectFastRepository,
  made,
  Sweeps,
  Transactions,
  violation,
} from '../../data/index.js';
import { Connections } from '../../database/index.js';
import { AccountClosing } from '../closing/account-closing.js';
import { IdempotencyKey } from './idempotency-key.entity.js';
import { answerIn, columnsOf, type StoredAnswer } from './stored-answer.js';

/** For so many hours an answer is given again. */
export const LIFETIME_HOURS = 24;

/** A write that must happen once: whose it is, under which key, and the hash of the request. */
export interface KeyedRequest {
  accountId: string;
  key: string;
  requestHash: Buffer;
  /** The size of its body; 0 when left out. */
  bytes?: number;
}

/** An answer, and when it was stored; whether that was before, or just now. */
export interface GivenAnswer {
  answer: StoredAnswer;
  createdAt: Date;
  isReplayed: boolean;
}

/**
 * For each of some keys: its place, whether this transaction may write under it, and what is stored. What another one
 * stores between the look-up and its lock is found by the primary key: then all of the transaction is undone.
 */
const CLAIM = {
  name: 'idempotency_claim',
  text: `SELECT n, CASE WHEN found.created_at > $3::timestamptz THEN NULL
      ELSE pg_try_advisory_xact_lock(hashtextextended(asked.key, asked.account_id)) END,
    found.request_hash, found.location, found.body, found.head, found.created_at
  FROM unnest((SELECT $1::bigint[])::bigint[], (SELECT $2::text[])::text[]) WITH ORDINALITY AS asked(account_id, key, n)
  LEFT JOIN LATERAL (SELECT * FROM idempotency_keys AS stored
    WHERE stored.account_id = asked.account_id AND stored.key = asked.key LIMIT 1) AS found ON true`,
};

/** What a transaction has found of a key. */
interface Claim {
  /** Whether it may write under the key. */
  isMine: boolean;
  stored?: IdempotencyKey;
}

/** Makes a retried write happen once: its first answer is stored with it, and given again for a while. */
@Injectable()
export class IdempotencyService implements OnApplicationBootstrap {
  /** The writes of this process, whose retries are turned away without the database; locks are for those to others. */
  private readonly running = new Map<string, KeyedRequest>();

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
   * @param group the kind of writes that the transaction may be shared with, as `Transactions.group` says; none when left out
   * @throws ApiError `idempotency_key_in_use`, `idempotency_key_reused`, or what the write throws
   */
  async once(
    request: KeyedRequest,
    write: () => Promise<StoredAnswer>,
    group?: string,
  ): Promise<GivenAnswer> {
    this.requireFirst(request);
    const { transactions } = this;
    const work = () => this.claimAndWrite(request, write);
    try {
      return await (group ? transactions.group(group, work, request.bytes) : transactions.runCounted(work));
    } catch (error) {
      return violation('idempotency_keys_pkey', 'idempotency_key_in_use')(error);
    } finally {
      if (this.running.get(nameOf(request)) === request) this.running.delete(nameOf(request));
    }
  }

  /** Stores what interceptors have made of an answer that was stored just now. */
  async update({ accountId, key }: KeyedRequest, createdAt: Date, answer: StoredAnswer): Promise<void> {
    await this.keys.updateRows({ accountId, key, createdAt }, columnsOf(answer, createdAt));
  }

  private async claimAndWrite(
    request: KeyedRequest,
    write: () => Promise<StoredAnswer>,
  ): Promise<GivenAnswer> {
    const { accountId, key, requestHash } = request;
    this.requireFirst(request);
    const { stored, isMine } = await this.claim(request);
    if (stored && stored.createdAt > expiry()) {
      if (!requestHash.equals(stored.requestHash)) throw new ApiError('idempotency_key_reused');
      return { answer: answerIn(stored), createdAt: stored.createdAt, isReplayed: true };
    }
    // Nobody waits for it: while the first one runs, others are turned away at once and hold no connection. Of those in
    // one transaction, each has its lock.
    if (!isMine) throw new ApiError('idempotency_key_in_use');
    this.requireFirst(request);
    this.running.set(nameOf(request), request);
    // It has expired, and may be swept meanwhile, or be another by now.
    if (stored) await this.forget(request);
    const answer = await write();
    const createdAt = new Date();
    const values = { requestHash, ...columnsOf(answer, createdAt), createdAt };
    await this.keys.addRowsAtCommit({ accountId, key, ...values });
    return { answer, createdAt, isReplayed: false };
  }

  /** @throws ApiError `idempotency_key_in_use` where another one with the same key is running */
  private requireFirst(request: KeyedRequest): void {
    const running = this.running.get(nameOf(request));
    if (running && running !== request) throw new ApiError('idempotency_key_in_use');
  }

  private async forget({ accountId, key }: KeyedRequest): Promise<void> {
    const { connection } = this.transactions;
    const expired = { accountId, key, createdAt: LessThanOrEqual(expiry()) };
    await this.transactions.written(() => connection.delete(IdempotencyKey, expired));
  }

  /** Claims a key for the open transaction; all that are claimed together by one statement. */
  private async claim(request: KeyedRequest): Promise<Claim> {
    const { connection } = this.transactions;
    const calls = this.transactions.gathered<KeyedRequest, Claim>(connection, CLAIM, async (requests) =>
      made(await this.claimAll(connection, requests)),
    );
    return calls ? calls.add(request, request.bytes) : (await this.claimAll(connection, [request]))[0]!;
  }

  private async claimAll({ queryRunner }: EntityManager, requests: KeyedRequest[]): Promise<Claim[]> {
    const client = (await queryRunner!.connect()) as PoolClient;
    const lists = [requests.map(({ accountId }) => accountId), requests.map(({ key }) => key)];
    const rows = await Connections.of(this.keys.manager.dataSource).run(client, CLAIM, [...lists, expiry()]);
    const claims: Claim[] = [];
    for (const [n, isMine, requestHash, location, body, head, createdAt] of rows) {
      const stored = createdAt
        ? ({ requestHash, location, body, head, createdAt } as IdempotencyKey)
        : undefined;
      claims[Number(n) - 1] = { isMine: isMine === true, stored };
    }
    return claims;
  }

  onApplicationBootstrap(): void {
    this.sweeps.start(IdempotencyKey, () => ({ before: { createdAt: expiry() } }));
  }
}

function nameOf({ accountId, key }: KeyedRequest): string {
  return `${accountId} ${key}`;
}

function expiry(): Date {
  return new Date(Date.now() - LIFETIME_HOURS * 60 * 60 * 1000);
}
