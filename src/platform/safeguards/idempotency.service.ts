import {
  Global,
  Injectable,
  Logger,
  Module,
  type OnApplicationBootstrap,
  StreamableFile,
} from '@nestjs/common';
import type { Response } from 'express';
import type { OutgoingHttpHeaders } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { PoolClient } from 'pg';
import { type EntityManager, LessThanOrEqual } from 'typeorm';
import { ApiError, JsonText, type OperationFacts } from '../api/index.js';
import {
  AsksMore,
  DataModule,
  FastRepository,
  InjectFastRepository,
  Sweeps,
  Transactions,
  violation,
} from '../data/index.js';
import { Batcher, bytesOf, codeOf, Connections, isLostStatement, made } from '../database/index.js';
import { ThrottledWarning } from '../telemetry/index.js';
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

/** SQLSTATE of a statement that was undone, since it has waited for a lock, or taken, longer than it may. */
const GIVEN_UP = new Set(['55P03', '57014']);

const more = new ThrottledWarning(
  new Logger('Idempotency'),
  'Operations that are said to write one row (`writesRow`) ask for more, and so are done in a transaction',
);

const KEY_IN_USE = violation('idempotency_keys_pkey', 'idempotency_key_in_use');

/** Makes a retried write happen once: its first answer is stored with it, and given again for a while. */
@Injectable()
export class IdempotencyService implements OnApplicationBootstrap {
  /** The writes of this process, whose retries are turned away; locks are for those to others. */
  private readonly running = new Map<string, KeyedRequest>();
  /**
   * Operations that are said to write one row, and whether they ask for nothing else. What is asked for behind the row would
   * come too late for its statement: so the first write of each is done in a transaction, which shows that.
   */
  private readonly fits = new Map<string, boolean>();
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
    this.finds = new Batcher({ make, bytesOf }, this.connections.reads);
    this.writes = keyedRuns(this.connections);
  }

  /**
   * Runs a write and stores its answer, both in one transaction, or else gives the answer that is stored. A write that
   * fails stores nothing, so it can be tried again.
   * @param group the kind of writes that the transaction may be shared with, as `Transactions.group` says; none when left out
   * @param sole what is known of the answer of a work that writes one row, and what belongs to it
   * @throws ApiError `idempotency_key_in_use`, `idempotency_key_reused`, or what the write throws
   */
  async once(
    request: KeyedRequest,
    write: () => Promise<StoredAnswer>,
    group?: string,
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
      const given = await (sole && this.fits.get(sole.id)
        ? this.writeSole(request, write, sole)
        : group
          ? transactions.group(group, work, request.bytes)
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
    try {
      await this.transactions.inOne(sole.statement, write);
    } catch (error) {
      if (error instanceof AsksMore) this.note(prospect, false);
      // Whatever the work objects to, an answer that is stored comes first. What waits for a lock of others has all the time
      // of its request in a transaction, where the key is taken first.
      const isUndone = sole.isUnfit || isLostStatement(error) || GIVEN_UP.has(codeOf(error) ?? '');
      if (sole.statement.isSent && !isUndone) throw error;
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
    // Nobody waits for it: while the first one runs, others are turned away at once and hold no connection. Of those in
    // one transaction, each has its lock.
    if (!isMine) throw new ApiError('idempotency_key_in_use');
    this.requireFirst(request);
    this.running.set(nameOf(request), request);
    // It has expired, and may be swept meanwhile, or be another by now.
    if (stored) await this.forget(request);
    const answer = await write();
    if (sole && this.fits.get(sole.id) !== false) this.note(sole, !this.transactions.hasAskedOn);
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

  private note({ id }: Prospect, fits: boolean): void {
    this.fits.set(id, fits);
    if (!fits) more.add(id);
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
    const claims: Claim[] = [];
    const values = [...listsOf(requests), expiry()];
    for (const [n, isMine, ...stored] of await this.connections.run(client, CLAIM, values))
      claims[Number(n) - 1] = { isMine: isMine === true, stored: storedRow(stored) };
    return claims;
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
export function storedRow([requestHash, location, body, head, createdAt]: unknown[]): StoredRow | undefined {
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
