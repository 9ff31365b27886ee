import { Global, Injectable, Module, type OnApplicationBootstrap, StreamableFile } from '@nestjs/common';
import type { Response } from 'express';
import type { OutgoingHttpHeaders } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { PoolClient } from 'pg';
import { LessThanOrEqual } from 'typeorm';
import { ApiError, JsonText, type OperationFacts } from '../api/index.js';
import {
  DataModule,
  FastRepository,
  InjectFastRepository,
  Sweeps,
  Transactions,
  violation,
} from '../data/index.js';
import { Batcher, bytesOf, Connections, made } from '../database/index.js';
import { AccountClosing } from './account-closing.js';
import {
  type AnswerHead,
  type Claim,
  IdempotencyKey,
  type KeyedRequest,
  type StoredAnswer,
  type StoredRow,
} from './idempotency-key.entity.js';
import { type KeyedRun, keyedRuns, type Prospect, SoleWrite } from './sole-write.js';

/** For so many hours an answer is given again. */
export const LIFETIME_HOURS = 24;

/** An answer, and when it was stored; whether that was before, or just now. */
interface GivenAnswer {
  answer: StoredAnswer;
  createdAt: Date;
  isReplayed: boolean;
}

/**
 * Whether this transaction may write under a key, and what is stored. What another one stores between the look-up and its lock
 * is found by the primary key: then all of the transaction is undone.
 */
const CLAIM = {
  name: 'idempotency_claim_key',
  text: `SELECT CASE WHEN found.created_at > $3::timestamptz THEN NULL
      ELSE pg_try_advisory_xact_lock(hashtextextended($2::text, $1::bigint)) END,
    found.request_hash, found.location, found.body, found.head, found.created_at
  FROM (SELECT) AS asked LEFT JOIN idempotency_keys AS found ON found.account_id = $1 AND found.key = $2`,
};

/** What is stored under each of some keys, with its place. */
const FIND = {
  name: 'idempotency_find',
  text: `SELECT n, found.request_hash, found.location, found.body, found.head, found.created_at
  FROM unnest((SELECT $1::bigint[])::bigint[], (SELECT $2::text[])::text[]) WITH ORDINALITY AS asked(account_id, key, n)
  JOIN LATERAL (SELECT * FROM idempotency_keys AS stored
    WHERE stored.account_id = asked.account_id AND stored.key = asked.key LIMIT 1) AS found ON true`,
};

/** So many keys that were answered last are looked up before anything else: a replay then costs what a read costs. */
const REMEMBERED = 10_000;

const KEY_IN_USE = violation('idempotency_keys_pkey', 'idempotency_key_in_use');

/** Makes a retried write happen once: its first answer is stored with it, and given again for a while. */
@Injectable()
export class IdempotencyService implements OnApplicationBootstrap {
  /** The writes of this process, whose retries are turned away; locks are for those to others. */
  private readonly running = new Map<string, KeyedRequest>();
  /** Keys under which an answer is probably stored. */
  private readonly answered = new LRUCache<string, true>({ max: REMEMBERED });
  private readonly finds: Batcher<KeyedRequest, StoredRow | undefined>;
  private readonly writes: Batcher<KeyedRun, unknown[]>;

  constructor(
    @InjectFastRepository(IdempotencyKey) private readonly keys: FastRepository<IdempotencyKey>,
    private readonly transactions: Transactions,
    private readonly sweeps: Sweeps,
    closing: AccountClosing,
  ) {
    closing.erases(IdempotencyKey);
    const make = async (requests: KeyedRequest[]) => made(await this.findAll(requests));
    this.finds = new Batcher({ make, isRead: true, bytesOf }, this.connections.reads);
    this.writes = keyedRuns(this.connections);
  }

  /**
   * Runs a write and stores its answer, both in one transaction, or else gives the answer that is stored. A write that
   * fails stores nothing, so it can be tried again.
   * @param sole what is known of the answer of a work that writes one row, and what belongs to it
   * @throws ApiError `idempotency_key_in_use`, `idempotency_key_reused`, or what the write throws
   */
  async once(
    request: KeyedRequest,
    write: () => Promise<StoredAnswer>,
    sole?: Prospect,
  ): Promise<GivenAnswer> {
    const { transactions } = this;
    const name = nameOf(request);
    if (this.answered.has(name) || this.running.has(name)) {
      // The one that is running may be a retry too.
      const again = replayOf(request, await this.finds.add(request));
      if (again) return again;
      this.requireFirst(request);
    }
    const work = () => this.claimAndWrite(request, write, sole);
    try {
      const given = await (sole && transactions.canBeOne(sole.id)
        ? this.writeSole(request, write, sole)
        : transactions.runCounted(work));
      this.answered.set(name, true);
      return given;
    } catch (error) {
      return KEY_IN_USE(error);
    } finally {
      if (this.running.get(name) === request) this.running.delete(name);
    }
  }

  /** Stores what interceptors have made of an answer that was stored just now. */
  async update({ accountId, key }: KeyedRequest, createdAt: Date, answer: StoredAnswer): Promise<void> {
    await this.keys.updateRows({ accountId, key, createdAt }, columnsOf(answer, createdAt));
  }

  /** The same in one statement, for work that writes one row, and what belongs to it, if that can be. */
  private async writeSole(
    request: KeyedRequest,
    write: () => Promise<StoredAnswer>,
    prospect: Prospect,
  ): Promise<GivenAnswer> {
    this.requireFirst(request);
    this.running.set(nameOf(request), request);
    const sole = new SoleWrite(request, prospect, this.writes);
    const { statement } = sole;
    try {
      await this.transactions.inOne(prospect.id, statement, write);
    } catch (error) {
      // Whatever the work objects to, an answer that is stored comes first.
      if (statement.isSent && !statement.isUndone) throw error;
    }
    const { kept: answer, createdAt, claim } = sole;
    if (answer) return { answer, createdAt, isReplayed: false };
    if (claim && !claim.stored && !claim.isMine) throw new ApiError('idempotency_key_in_use');
    const again = replayOf(request, claim?.stored);
    return again ?? this.transactions.runCounted(() => this.claimAndWrite(request, write, prospect));
  }

  private async claimAndWrite(
    request: KeyedRequest,
    write: () => Promise<StoredAnswer>,
    sole?: Prospect,
  ): Promise<GivenAnswer> {
    const { accountId, key, requestHash } = request;
    const { stored, isMine } = await this.claim(request);
    const again = replayOf(request, stored);
    if (again) return again;
    // Nobody waits for the first one: while that runs, others are turned away at once and hold no connection.
    if (!isMine) throw new ApiError('idempotency_key_in_use');
    this.requireFirst(request);
    this.running.set(nameOf(request), request);
    // It has expired, and may be swept meanwhile, or be another by now.
    if (stored) await this.forget(request);
    const answer = await (sole ? this.transactions.watch(sole.id, write) : write());
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

  /** Claims a key for the open transaction. */
  private async claim({ accountId, key }: KeyedRequest): Promise<Claim> {
    const client = (await this.transactions.connection.queryRunner!.connect()) as PoolClient;
    const values = [accountId, key, expiry()];
    const [[isMine, ...stored] = []] = await this.connections.run(client, CLAIM, values);
    return { isMine: isMine === true, stored: storedRow(stored) };
  }

  private async findAll(requests: KeyedRequest[]): Promise<(StoredRow | undefined)[]> {
    const found = requests.map((): StoredRow | undefined => undefined);
    const { connections } = this;
    for (const [n, ...stored] of await connections.run(connections.primary, FIND, listsOf(requests)))
      found[Number(n) - 1] = storedRow(stored);
    return found;
  }

  private get connections(): Connections {
    return Connections.of(this.keys.manager.dataSource);
  }

  onApplicationBootstrap(): void {
    this.sweeps.start(IdempotencyKey, () => ({ before: { createdAt: expiry() } }));
  }
}

function listsOf(requests: readonly KeyedRequest[]): string[][] {
  return [requests.map(({ accountId }) => accountId), requests.map(({ key }) => key)];
}

/** What the columns of an answer hold; undefined if there is none. */
function storedRow([requestHash, location, body, head, createdAt]: unknown[]): StoredRow | undefined {
  return createdAt ? ({ requestHash, location, body, head, createdAt } as StoredRow) : undefined;
}

/**
 * The answer that is stored, and has not expired.
 * @throws ApiError `idempotency_key_reused` where it is that of another request
 */
function replayOf({ requestHash }: KeyedRequest, stored?: StoredRow): GivenAnswer | undefined {
  if (!stored || stored.createdAt <= expiry()) return undefined;
  if (!requestHash.equals(stored.requestHash)) throw new ApiError('idempotency_key_reused');
  return { answer: answerIn(stored), createdAt: stored.createdAt, isReplayed: true };
}

function nameOf({ accountId, key }: KeyedRequest): string {
  return `${accountId} ${key}`;
}

function expiry(): Date {
  return new Date(Date.now() - LIFETIME_HOURS * 60 * 60 * 1000);
}

/** What a method has answered: its value, the status, and the headers that were not there `before` it. */
export function answerToStore(
  operation: OperationFacts,
  value: unknown,
  response: Response,
  before: OutgoingHttpHeaders,
): StoredAnswer {
  const set = Object.entries(response.getHeaders()).filter(
    ([name, content]) => content !== undefined && !isDeepStrictEqual(content, before[name]),
  );
  const headers = Object.fromEntries(set) as AnswerHead['headers'];
  return { status: response.statusCode, headers, body: textOf(operation, value) };
}

/** The columns of an answer that is stored at some time. */
function columnsOf({ status, headers, body }: StoredAnswer, createdAt: Date) {
  const head = status === undefined ? null : { status, headers, createdAt: createdAt.toISOString() };
  return { location: (headers.location as string | undefined) ?? null, body, head };
}

/** The answer that a row holds. */
function answerIn({ head, location, body, createdAt }: StoredRow): StoredAnswer {
  const isItsOwn = head?.createdAt === createdAt.toISOString();
  if (isItsOwn) return { status: head.status, headers: head.headers, body };
  return { headers: location === null ? {} : { location }, body };
}

/** Gives an answer the status and the headers of a stored one, and returns its body as it is sent. */
export function restore({ status, headers, body }: StoredAnswer, response: Response): JsonText | undefined {
  if (status !== undefined) response.statusCode = status;
  for (const [name, content] of Object.entries(headers)) response.setHeader(name, content);
  response.setHeader('Idempotency-Replayed', 'true');
  return body === '' ? undefined : new JsonText(body);
}

/** @throws Error for what is not sent as JSON, and so could not be given again as it was */
function textOf({ id, serialize }: OperationFacts, value: unknown): string {
  if (value === undefined || value === null) return '';
  if (value instanceof JsonText) return value.text;
  const isBinary = value instanceof StreamableFile || value instanceof Uint8Array;
  if (typeof value !== 'object' || isBinary) {
    const kind = isBinary ? value.constructor.name : typeof value;
    throw new Error(`${id} is idempotent, and returns a ${kind} instead of an object`);
  }
  return serialize ? serialize(value).text : JSON.stringify(value);
}

/** Serves `@Idempotent()` wherever it stands. */
@Global()
@Module({
  imports: [DataModule.forFeature([IdempotencyKey])],
  providers: [IdempotencyService],
  exports: [IdempotencyService],
})
export class IdempotencyModule {}
