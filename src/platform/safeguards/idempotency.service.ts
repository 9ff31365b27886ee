import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { type ObjectLiteral, QueryFailedError } from 'typeorm';
import { ApiError } from '../api/index.js';
import {
  type Belonging,
  FastRepository,
  InjectFastRepository,
  type Insert,
  tableOf,
  Transactions,
} from '../data/index.js';
import { codeOf, isUnavailable, type Statement, TIMEOUTS } from '../database/index.js';
import { type Job, Scheduled } from '../jobs/index.js';
import { within } from '../process/index.js';
import { AccountClosing } from './account-closing.js';
import { type AnswerHead, IdempotencyKey } from './idempotency-key.entity.js';

/** Hours for which an answer is repeated. */
export const LIFETIME_HOURS = 24;

/** Number of answered keys to remember: their answers are looked up first, so a replay is just a read. */
const MAX_ANSWERED = 10_000;

/** SQLSTATE `lock_not_available`. */
const LOCKED = '55P03';
/** SQLSTATE `query_canceled`, such as the time-out of a statement that has waited for several locks. */
const CANCELLED = '57014';
const PRIMARY_KEY = 'idempotency_keys_pkey';

/** A write that must happen once: its account, its key, and the facts that identify a repeated request. */
export interface KeyedRequest {
  readonly accountId: string;
  readonly key: string;
  /** The query string, byte for byte as sent. */
  readonly query: string;
  readonly fingerprint: Buffer;
  /** Answers stored before this time have expired. Fixed per request: none expires between two statements. */
  readonly expiry: Date;
}

export interface Answer extends Omit<AnswerHead, 'row' | 'query'> {
  readonly body: string;
}

export interface StoredAnswer extends Answer {
  /** The row of the answer, if the row is stored instead of the body. */
  readonly row?: ObjectLiteral;
}

/** The result of a keyed write: a new value, or an earlier answer. */
export type Outcome<T> = T | { readonly stored: StoredAnswer };

/**
 * Makes a retried write happen once: its answer is stored with the write, and repeated for `LIFETIME_HOURS`.
 * The write's transaction inserts a row into `idempotency_keys`, whose primary key makes a second write with
 * the same key wait for the first, at most for the lock time-out. If a client loses the connection during
 * COMMIT and repeats a committed write, the repetition violates the primary key, and gets the stored answer.
 */
@Injectable()
export class IdempotencyService {
  /** The running requests of this process, by key. */
  private readonly running = new Map<string, Promise<unknown>>();
  /** Keys that probably have a stored answer. */
  private readonly answered = new LRUCache<string, true>({ max: MAX_ANSWERED });

  private readonly storing: Statement;

  constructor(
    @InjectFastRepository(IdempotencyKey) private readonly keys: FastRepository<IdempotencyKey>,
    private readonly transactions: Transactions,
    closing: AccountClosing,
  ) {
    const { shape } = keys;
    this.storing = shape.prepared(
      'store an answer',
      () => `UPDATE ${shape.table} SET body = $3, head = $4, location = NULL, created_at = clock_timestamp()
        WHERE account_id = $1 AND key = $2`,
    );
    closing.erases(IdempotencyKey);
  }

  /**
   * Returns the stored answer, if any. Otherwise, runs the write in a transaction that claims the key, and
   * stores `answerOf(value)`. A failed write stores nothing and can be retried.
   * @throws ApiError `idempotency_key_in_use`, `idempotency_key_reused`, or what the write throws
   */
  async transaction<T>(
    request: KeyedRequest,
    write: () => Promise<T>,
    answerOf: (value: T) => Answer,
  ): Promise<Outcome<{ value: T; answer: Answer }>> {
    const { accountId, key, query } = request;
    const work = async (): Promise<Outcome<{ value: T; answer: Answer }>> => {
      if (!(await this.claim(request))) return { stored: (await this.find(request))! };
      const value = await write();
      const answer = answerOf(value);
      const { body, ...head } = answer;
      this.transactions.last(this.storing, [accountId, key, body, JSON.stringify({ ...head, query })]);
      return { value, answer };
    };
    return this.runOnce(request, () => this.transactions.run(work));
  }

  /**
   * Inserts a row and its answer by one statement, or returns the stored answer. No look-up is needed: a used
   * key violates the primary key, and PostgreSQL undoes the statement.
   * @param base the `Location` of the answer up to the id; null if the answer has none
   * @throws ApiError as `transaction` does, or what the insert throws
   */
  async insert<Entity extends ObjectLiteral>(
    request: KeyedRequest,
    insert: Insert<Entity>,
    head: Omit<Answer, 'body'>,
    base: string | null,
  ): Promise<Outcome<{ value: Entity }>> {
    const work = async (): Promise<Outcome<{ value: Entity }>> => {
      try {
        return { value: await insert.run(this.answerRecord(request, insert.rows, head, base)) };
      } catch (error) {
        const hasWaited = [LOCKED, CANCELLED].includes(codeOf(error) ?? '');
        if (isUnavailable(error) && !hasWaited) throw error;
        if (hasWaited) await this.requireUnlocked(request);
        // A stored answer takes precedence over the failure of the insert.
        const stored = await this.find(request, insert.rows);
        if (stored) return { stored };
        if (constraintOf(error) !== PRIMARY_KEY) throw error;
        await this.forgetExpired(request);
        return work();
      }
    };
    return this.runOnce(request, work, insert.rows);
  }

  /**
   * Stores the text that interceptors made of an answer, unless a text is stored already.
   * @returns the stored text; undefined if the answer has expired meanwhile
   */
  async keep({ accountId, key }: KeyedRequest, text: string): Promise<string | undefined> {
    const keep = () => `UPDATE ${this.keys.shape.table}
      SET head = jsonb_build_object('sent', $3::text) || jsonb_strip_nulls(head)
      WHERE account_id = $1 AND key = $2 RETURNING head ->> 'sent'`;
    const [kept] = await this.keys.send('keep a text', keep, [accountId, key, text]);
    return kept?.[0] as string | undefined;
  }

  /**
   * The stored answer of a request that is refused before its method has named the rows of the answer.
   * @throws ApiError `idempotency_key_reused` for a key that another request has used
   */
  async findRefused(request: KeyedRequest): Promise<StoredAnswer | undefined> {
    const { metadata, manager, shape } = this.keys;
    const select = () => `SELECT head ->> 'row' FROM ${shape.table} WHERE account_id = $1 AND key = $2`;
    const [found] = await this.keys.send('find a table', select, [request.accountId, request.key]);
    if (!found) return undefined;
    const entity = metadata.dataSource.entityMetadatas.find((one) => tableOf(one) === found[0]);
    return this.find(request, entity && new FastRepository(entity.target, manager));
  }

  /**
   * Runs a request unless its answer is stored. Waits for an earlier request with the same key in this
   * process; for requests in other processes, the primary key makes PostgreSQL wait.
   * @throws ApiError `idempotency_key_in_use` if earlier requests do not finish in time
   */
  private async runOnce<T>(
    request: KeyedRequest,
    work: () => Promise<Outcome<T>>,
    rows?: FastRepository<ObjectLiteral>,
  ): Promise<Outcome<T>> {
    const name = nameOf(request);
    const until = performance.now() + TIMEOUTS.lock;
    for (;;) {
      const earlier = this.running.get(name);
      if (earlier) await within(Math.max(0, until - performance.now()), earlier);
      const stored = earlier || this.answered.has(name) ? await this.find(request, rows) : undefined;
      if (stored) return { stored };
      // The earlier request has failed: this request runs, unless another waiting request is first.
      if (!this.running.has(name)) break;
      if (performance.now() >= until) throw new ApiError('idempotency_key_in_use');
    }
    const outcome = work();
    const finished = outcome.then(
      () => void this.answered.set(name, true),
      () => {},
    );
    this.running.set(
      name,
      finished.finally(() => this.running.delete(name)),
    );
    return outcome;
  }

  /** Claims a key for the open transaction. @returns false if an unexpired answer is stored under the key */
  private async claim({ accountId, key, fingerprint, expiry }: KeyedRequest): Promise<boolean> {
    const claim = () => `INSERT INTO ${this.keys.shape.table} AS kept (account_id, key, request_hash, body)
      VALUES ($1, $2, $3, '') ON CONFLICT (account_id, key) DO UPDATE
      SET request_hash = EXCLUDED.request_hash WHERE kept.created_at <= $4::timestamptz RETURNING 1`;
    try {
      return (await this.keys.send('claim', claim, [accountId, key, fingerprint, expiry])).length > 0;
    } catch (error) {
      if (codeOf(error) !== LOCKED) throw error;
      throw new ApiError('idempotency_key_in_use', undefined, { cause: error });
    }
  }

  /** Refuses an insert whose key a running request holds. @throws ApiError `idempotency_key_in_use` */
  private async requireUnlocked(request: KeyedRequest): Promise<void> {
    const free = new Error();
    await this.transactions
      .run(async (transaction) => {
        await transaction.query('SET LOCAL lock_timeout = 1');
        await this.claim(request);
        throw free;
      })
      .catch((error: unknown) => {
        if (error !== free) throw error;
      });
  }

  private answerRecord(
    { accountId, key, query, fingerprint }: KeyedRequest,
    rows: FastRepository<ObjectLiteral>,
    head: Omit<Answer, 'body'>,
    base: string | null,
  ): Belonging {
    const stored: AnswerHead = { ...head, query, row: rows.shape.table };
    const { table } = this.keys.shape;
    return {
      of: ({ keys: [id] }) => ({
        name: 'keep the answer',
        values: [accountId, key, fingerprint, base, JSON.stringify(stored)],
        text: (parameter) => `INSERT INTO ${table} (account_id, key, request_hash, location, body, head)
          SELECT CAST(${parameter(0)} AS bigint), CAST(${parameter(1)} AS text), CAST(${parameter(2)} AS bytea),
            CAST(${parameter(3)} AS text) || made.${id!.sql}, to_json(made)::text, CAST(${parameter(4)} AS jsonb)
          FROM made RETURNING 1`,
      }),
    };
  }

  /**
   * The stored answer, unless it has expired.
   * @throws ApiError `idempotency_key_reused` for another request, `idempotency_key_in_use` while pending
   */
  private async find(
    request: KeyedRequest,
    rows: FastRepository<ObjectLiteral> = this.keys,
  ): Promise<StoredAnswer | undefined> {
    const { accountId, key, expiry } = request;
    const { table, selected } = rows.shape;
    const columns = selected.map(({ sql }) => `made.${sql}`).join(', ');
    const select =
      () => `SELECT kept.request_hash, kept.location, kept.body, kept.head, kept.created_at, ${columns}
      FROM ${this.keys.shape.table} AS kept, LATERAL json_populate_record(NULL::${table},
        CASE WHEN kept.head ->> 'row' = '${table}' THEN kept.body::json END) AS made
      WHERE kept.account_id = $1 AND kept.key = $2 AND kept.created_at > $3::timestamptz`;
    const [found] = await rows.send('find an answer', select, [accountId, key, expiry]);
    if (!found) return undefined;
    this.answered.set(nameOf(request), true);
    return answerIn(request, found as Parameters<typeof answerIn>[1], rows);
  }

  /** Deletes an expired answer that no sweep has deleted yet. */
  private async forgetExpired({ accountId, key, expiry }: KeyedRequest): Promise<void> {
    const { table } = this.keys.shape;
    const forget = () => `DELETE FROM ${table} WHERE account_id = $1 AND key = $2 AND created_at <= $3`;
    await this.keys.send('forget', forget, [accountId, key, expiry]);
  }

  @Scheduled('sweep-idempotency-keys', '*/10 * * * *', { runsInEveryRole: true, concurrency: 1 })
  sweep(_payload: undefined, { signal }: Job): Promise<void> {
    return this.keys.sweep({ sql: 'created_at < $1', parameters: [oldestKept()] }, 'createdAt', signal);
  }
}

function nameOf({ accountId, key }: Pick<KeyedRequest, 'accountId' | 'key'>): string {
  return `${accountId} ${key}`;
}

/** The time before which stored answers have expired. */
export function oldestKept(): Date {
  return new Date(Date.now() - LIFETIME_HOURS * 60 * 60 * 1000);
}

/** The answer in a row of `idempotency_keys`. @throws ApiError as `find` does */
function answerIn(
  { fingerprint, query }: KeyedRequest,
  [hash, location, body, head, at, ...row]: [
    Buffer,
    string | null,
    string,
    AnswerHead | null,
    Date,
    ...unknown[],
  ],
  rows: FastRepository<ObjectLiteral>,
): StoredAnswer {
  const { table } = rows.shape;
  const isSame = head && fingerprint.equals(hash) && (head.query ?? query) === query;
  // Release 1.0 stored no head. In an earlier release, this operation may have filled another table.
  if (!isSame || (head.row ?? table) !== table) throw new ApiError('idempotency_key_reused');
  const { status, sent } = head;
  // Null until the answer is sent. The deadline cuts unsent answers off; interceptors then remake the text.
  if (sent === null && Date.now() - at.getTime() < TIMEOUTS.request)
    throw new ApiError('idempotency_key_in_use');
  const headers = location === null ? head.headers : { ...head.headers, location };
  const answer = { status, headers, sent, body };
  return head.row === undefined ? answer : { ...answer, row: rows.shape.hydrate(row) };
}

function constraintOf(error: unknown): string | undefined {
  return error instanceof QueryFailedError
    ? (error.driverError as { constraint?: string }).constraint
    : undefined;
}
