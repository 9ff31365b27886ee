import { Global, Injectable, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { type ObjectLiteral, QueryFailedError } from 'typeorm';
import { ApiError } from '../api/index.js';
import {
  type Belonging,
  DataModule,
  FastRepository,
  InjectFastRepository,
  type Insert,
  Sweeps,
  Transactions,
} from '../data/index.js';
import { codeOf, isUnavailable, SharedRead, TIMEOUTS } from '../database/index.js';
import { AccountClosing } from './account-closing.js';
import { type AnswerHead, IdempotencyKey } from './idempotency-key.entity.js';

/** For so many hours an answer is given again. */
export const LIFETIME_HOURS = 24;

/** So many keys that were answered last are looked up before anything else: a replay then costs what a read costs. */
const REMEMBERED = 10_000;
/** Look-ups that retries of the same moment may share. */
const SHARED = 1_000;

/** SQLSTATE `lock_not_available`. */
const LOCKED = '55P03';
/** SQLSTATE `query_canceled`, as at the time-out of a statement that has waited for more than one lock. */
const CANCELLED = '57014';
const PRIMARY_KEY = 'idempotency_keys_pkey';

/** A write that must happen once: whose it is, under which key, and what tells the request from others. */
export interface KeyedRequest {
  readonly accountId: string;
  readonly key: string;
  readonly fingerprint: Buffer;
  /** What 1.x stored of the same request. */
  readonly olderFingerprint: () => Buffer;
}

/** An answer that a method has given. */
export interface Answer extends Omit<AnswerHead, 'row'> {
  readonly body: string;
}

/** An answer that is stored. */
export interface StoredAnswer extends Partial<Answer> {
  readonly headers: AnswerHead['headers'];
  /** The row that it is of, where that is stored instead of the body. */
  readonly row?: ObjectLiteral;
}

/** What has become of a keyed write. */
export type Outcome<T> = { readonly value: T } | { readonly stored: StoredAnswer };

/**
 * Makes a retried write happen once: its first answer is stored with it, and given again for a while. A row of
 * `idempotency_keys` is written in the transaction of the write, and its primary key keeps out every other write with that key:
 * a second one waits for the first, at most as long as for any lock. Whoever does not know whether a write was done, because
 * its connection was lost behind the COMMIT, sends it again: what was committed violates the key, and is answered from there.
 */
@Injectable()
export class IdempotencyService implements OnApplicationBootstrap {
  /** The first request of each key that is under way in this process. */
  private readonly running = new Map<string, Promise<unknown>>();
  /** Keys under which an answer is probably stored. */
  private readonly answered = new LRUCache<string, true>({ max: REMEMBERED });

  private readonly finds = new LRUCache<string, SharedRead<unknown[] | undefined>>({ max: SHARED });

  constructor(
    @InjectFastRepository(IdempotencyKey) private readonly keys: FastRepository<IdempotencyKey>,
    private readonly transactions: Transactions,
    private readonly sweeps: Sweeps,
    closing: AccountClosing,
  ) {
    closing.erases(IdempotencyKey);
  }

  /**
   * Runs a write in a transaction that has claimed its key, and stores what `answerOf` makes of its value; or gives the answer
   * that is stored. A write that fails stores nothing, so it can be tried again.
   * @throws ApiError `idempotency_key_in_use`, `idempotency_key_reused`, or what the write throws
   */
  async transaction<T>(
    request: KeyedRequest,
    write: () => Promise<T>,
    answerOf: (value: T) => Answer,
  ): Promise<Outcome<T>> {
    const { accountId, key } = request;
    const work = async (): Promise<Outcome<T>> => {
      if (!(await this.claim(request))) return { stored: (await this.find(request))! };
      const value = await write();
      const { body, ...head } = answerOf(value);
      const answer = { body, head, location: null, createdAt: new Date() };
      this.transactions.last(() => this.keys.updateRows({ accountId, key }, answer));
      return { value };
    };
    return this.first(request, () => this.transactions.run(work));
  }

  /**
   * Makes a row and stores its answer by one statement, or gives the answer that is stored. There is no look-up before: a key
   * that is there already violates its primary key, at which PostgreSQL undoes all.
   * @param base what the `Location` of the answer has before the id; null if it has none
   * @throws ApiError as `transaction` does, or what the insert throws
   */
  async insert<Entity extends ObjectLiteral>(
    request: KeyedRequest,
    insert: Insert<Entity>,
    head: Omit<AnswerHead, 'row'>,
    base: string | null,
  ): Promise<Outcome<Entity>> {
    const once = async () => ({ value: await insert.run(this.kept(request, insert.rows, head, base)) });
    const work = async (): Promise<Outcome<Entity>> => {
      try {
        return await once();
      } catch (error) {
        const hasWaited = [LOCKED, CANCELLED].includes(codeOf(error) ?? '');
        if (isUnavailable(error) && !hasWaited) throw error;
        if (hasWaited) await this.requireFree(request);
        // Whatever the insert was refused for: an answer that is stored comes first.
        const stored = await this.find(request, insert.rows);
        if (stored) return { stored };
        if (constraintOf(error) !== PRIMARY_KEY) throw error;
        await this.forgetExpired(request);
        return once();
      }
    };
    return this.first(request, work, insert.rows);
  }

  /**
   * Carries a request out unless an answer is stored, or another one with its key is under way in this process: that is waited
   * for, as PostgreSQL has those of other processes wait.
   * @throws ApiError `idempotency_key_in_use` where that has not been answered meanwhile
   */
  private async first<T>(
    request: KeyedRequest,
    work: () => Promise<Outcome<T>>,
    rows?: FastRepository<ObjectLiteral>,
  ): Promise<Outcome<T>> {
    const name = nameOf(request);
    const before = this.running.get(name);
    if (before) await Promise.race([before, sleep(TIMEOUTS.lock)]);
    const stored = before || this.answered.has(name) ? await this.recall(request, rows) : undefined;
    if (stored) return { stored };
    if (before) throw new ApiError('idempotency_key_in_use');
    const outcome = work();
    const settled = outcome.then(
      () => void this.answered.set(name, true),
      () => {},
    );
    this.running.set(
      name,
      settled.finally(() => this.running.delete(name)),
    );
    return outcome;
  }

  /** Claims a key for the open transaction; false if an answer is stored under it, which has not expired. */
  private async claim({ accountId, key, fingerprint }: KeyedRequest): Promise<boolean> {
    const claim = () => `INSERT INTO ${this.keys.shape.table} AS kept (account_id, key, request_hash, body)
      VALUES ($1, $2, $3, '') ON CONFLICT (account_id, key) DO UPDATE
      SET request_hash = EXCLUDED.request_hash WHERE kept.created_at <= $4::timestamptz RETURNING 1`;
    try {
      return (await this.keys.send('claim', claim, [accountId, key, fingerprint, expiry()])).length > 0;
    } catch (error) {
      if (codeOf(error) !== LOCKED) throw error;
      throw new ApiError('idempotency_key_in_use', undefined, { cause: error });
    }
  }

  /**
   * Asks whose lock it was that an insert has waited for in vain: one of another row, or that of a request with the same key.
   * @throws ApiError `idempotency_key_in_use`
   */
  private async requireFree(request: KeyedRequest): Promise<void> {
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

  /** The key and the answer of a new row. */
  private kept(
    { accountId, key, fingerprint }: KeyedRequest,
    rows: FastRepository<ObjectLiteral>,
    head: Omit<AnswerHead, 'row'>,
    base: string | null,
  ): Belonging {
    const stored: AnswerHead = { ...head, row: rows.shape.table };
    const { table } = this.keys.shape;
    return {
      of: ({ keys: [id] }) => ({
        name: 'keep the answer',
        values: [accountId, key, fingerprint, base, JSON.stringify(stored)],
        text: (parameter) => `INSERT INTO ${table} (account_id, key, request_hash, location, body, head)
          SELECT CAST(${parameter(0)} AS bigint), CAST(${parameter(1)} AS text), CAST(${parameter(2)} AS bytea),
            CAST(${parameter(3)} AS text) || made.${id!.sql}, to_jsonb(made)::text, CAST(${parameter(4)} AS jsonb)
          FROM made RETURNING 1`,
      }),
    };
  }

  /** The answer that is stored, which retries of the same moment share. @throws ApiError as `find` does */
  private async recall(
    request: KeyedRequest,
    rows?: FastRepository<ObjectLiteral>,
  ): Promise<StoredAnswer | undefined> {
    const name = `${nameOf(request)} ${rows?.shape.table}`;
    let shared = this.finds.get(name);
    if (!shared) this.finds.set(name, (shared = new SharedRead(() => this.read(request, rows))));
    return answerIn(request, await shared.ask(), rows);
  }

  /**
   * The answer that is stored, and has not expired.
   * @param rows those of the answer's row, where it may be one
   * @throws ApiError `idempotency_key_reused` where it is that of another request
   */
  private async find(
    request: KeyedRequest,
    rows?: FastRepository<ObjectLiteral>,
  ): Promise<StoredAnswer | undefined> {
    return answerIn(request, await this.read(request, rows), rows);
  }

  private async read(
    { accountId, key }: KeyedRequest,
    rows: FastRepository<ObjectLiteral> = this.keys,
  ): Promise<unknown[] | undefined> {
    const { table, selected } = rows.shape;
    const columns = selected.map(({ sql }) => `made.${sql}`).join(', ');
    const select = () => `SELECT kept.request_hash, kept.location, kept.body, kept.head, ${columns}
      FROM ${this.keys.shape.table} AS kept, LATERAL jsonb_populate_record(NULL::${table},
        CASE WHEN kept.head ->> 'row' = '${table}' THEN kept.body::jsonb END) AS made
      WHERE kept.account_id = $1 AND kept.key = $2 AND kept.created_at > $3::timestamptz`;
    const [found] = await rows.send('find an answer', select, [accountId, key, expiry()]);
    if (found) this.answered.set(nameOf({ accountId, key }), true);
    return found;
  }

  /** Deletes an answer that has expired, and was not swept yet. */
  private async forgetExpired({ accountId, key }: KeyedRequest): Promise<void> {
    const { table } = this.keys.shape;
    const forget = () => `DELETE FROM ${table} WHERE account_id = $1 AND key = $2 AND created_at <= $3`;
    await this.keys.send('forget', forget, [accountId, key, expiry()]);
  }

  onApplicationBootstrap(): void {
    this.sweeps.start(IdempotencyKey, () => ({ before: { createdAt: expiry() } }));
  }
}

function nameOf({ accountId, key }: Pick<KeyedRequest, 'accountId' | 'key'>): string {
  return `${accountId} ${key}`;
}

function expiry(): Date {
  return new Date(Date.now() - LIFETIME_HOURS * 60 * 60 * 1000);
}

/** The answer in a row that was found. @throws ApiError `idempotency_key_reused` where it is that of another request */
function answerIn(
  { fingerprint, olderFingerprint }: KeyedRequest,
  found: unknown[] | undefined,
  rows?: FastRepository<ObjectLiteral>,
): StoredAnswer | undefined {
  if (!found) return undefined;
  const [hash, location, body, head, ...row] = found as [Buffer, string | null, string, AnswerHead | null];
  if (!fingerprint.equals(hash) && !olderFingerprint().equals(hash))
    throw new ApiError('idempotency_key_reused');
  const headers = { ...head?.headers, ...(location === null ? {} : { location }) };
  if (head?.row === undefined) return { status: head?.status, headers, body };
  return { status: head.status, headers, row: rows!.shape.hydrate(row) };
}

/** The constraint that a statement was refused for. */
function constraintOf(error: unknown): string | undefined {
  return error instanceof QueryFailedError
    ? (error.driverError as { constraint?: string }).constraint
    : undefined;
}

/** Serves `@Idempotent()` wherever it stands. */
@Global()
@Module({
  imports: [DataModule.forFeature([IdempotencyKey])],
  providers: [IdempotencyService],
  exports: [IdempotencyService],
})
export class IdempotencyModule {}
