import { AsyncLocalStorage } from 'node:async_hooks';
import pg, { Pool, type PoolClient, type PoolConfig } from 'pg';
import { currentWork, NOBODY, type Payers, Quota, type Work } from '../process/index.js';
import { TIMEOUTS } from './session-settings.js';
import { answered503, isUnavailable, NoConnection } from './unavailable.js';

type Callback = (error?: Error, client?: PoolClient, release?: (reason?: Error | boolean) => void) => void;

interface Loan {
  readonly payers: Payers;
  deadline?: NodeJS.Timeout;
  /** Makes the connection accept statements again, after its deadline made it refuse them. */
  restore?: () => void;
}

/**
 * The pool of `pg` with a quota and a deadline. A payer may hold at most as many connections as are free, and
 * waits for more in a queue of its own. When a request's answer is due, its open transaction is rolled back;
 * a COMMIT, or a statement outside of a transaction, that the server is then running may still take effect.
 */
export class LentPool extends Pool {
  /** The number of connections that each payer holds. */
  readonly quota: Quota;
  private readonly loans = new WeakMap<PoolClient, Loan>();
  /** The pool for slow work: operations with a time limit of their own, such as reports, and row streams. */
  readonly slow?: LentPool;
  private readonly isSlow: boolean;

  /** @param slow options that differ in the pool for slow work */
  constructor({ slow, ...config }: PoolConfig & { slow?: PoolConfig } = {}) {
    super(config);
    this.quota = new Quota(this.options.max);
    this.isSlow = config.pipeline === false;
    if (slow) {
      this.slow = new LentPool({ ...config, ...slow });
      this.slow.on('error', (error, client) => this.emit('error', error, client));
    }
    const { connectionTimeoutMillis } = this.options;
    // At the start, connecting may take longer: no client waits, and a busy machine is loading the service.
    this.options.connectionTimeoutMillis = TIMEOUTS.start;
    this.once('connect', () => (this.options.connectionTimeoutMillis = connectionTimeoutMillis));
    // An error of a lent connection reaches its statement anyway; without a listener, the process would end.
    this.on('connect', (client) => client.on('error', () => {}));
    // The pool emits `release` before it has the connection back, so the quota is released a tick later.
    this.on('release', (_error, client) => {
      const loan = this.loans.get(client);
      if (!loan) return;
      clearTimeout(loan.deadline);
      loan.restore?.();
      this.loans.delete(client);
      process.nextTick(() => this.quota.release(loan.payers));
    });
  }

  /** The number of calls of `connect` that wait for a connection. */
  get queued(): number {
    // pg-pool queues even a call that an idle connection serves in the next tick.
    return this.quota.waiting + Math.max(0, this.waitingCount - this.idleCount);
  }

  override connect(): Promise<PoolClient>;
  override connect(callback: Callback): void;
  override connect(callback?: Callback): Promise<PoolClient> | void {
    const current = currentWork.getStore();
    const work = current?.isOver ? undefined : current;
    const lent = work?.hasOwnTime && this.slow ? this.slow.connect() : this.lend(work);
    if (!callback) return lent;
    const call = AsyncLocalStorage.bind(callback);
    lent.then(
      (client) => call(undefined, client, (reason) => client.release(reason)),
      (error: Error) => call(error, undefined, () => {}),
    );
  }

  override end(): Promise<void>;
  override end(callback: () => void): void;
  override end(callback?: () => void): Promise<void> | void {
    void this.slow?.end();
    return callback ? super.end(callback) : super.end();
  }

  private async lend(work: Work | undefined): Promise<PoolClient> {
    const payers = work?.payers ?? NOBODY;
    if (!this.quota.tryAcquire(payers)) {
      const waitMs = patienceOf(work) ?? this.options.connectionTimeoutMillis ?? TIMEOUTS.connect;
      await this.quota.acquire(payers, waitMs, () =>
        answered503(new NoConnection('No connection was free in time')),
      );
    }
    try {
      const client = await super.connect();
      const loan: Loan = { payers };
      loan.deadline = this.deadlineOf(client, loan, work);
      this.loans.set(client, loan);
      return client;
    } catch (error) {
      this.quota.release(payers);
      // Any other failure, such as an unreadable certificate, means 503 too.
      const failure = isUnavailable(error)
        ? error
        : new NoConnection((error as Error).message, { cause: error });
      throw answered503(failure);
    }
  }

  /**
   * Ends the loan of a request shortly before its answer is due, unless the answer is a stream that has
   * started. In the pool for slow work, without `pipeline`, closing the connection cuts off a long statement.
   */
  private deadlineOf(client: PoolClient, loan: Loan, work?: Work): NodeJS.Timeout | undefined {
    if (!work || work.left === Infinity) return undefined;
    const end = () => {
      if (work.left === Infinity) return;
      if (this.isSlow) void client.end();
      else loan.restore = refuseFurther(client);
    };
    return setTimeout(end, Math.max(0, Math.floor(work.left - TIMEOUTS.abortMargin)));
  }
}

/** Milliseconds that a request may wait for a connection and still have time to use it. */
function patienceOf(work: Work | undefined): number | undefined {
  if (!work || work.left === Infinity) return work?.patienceMs;
  return Math.max(0, Math.floor(work.left - TIMEOUTS.transaction - TIMEOUTS.abortMargin));
}

/**
 * Runs work whose result several requests may share: without a deadline, and charged to `payers`. It waits
 * for a connection as long as the current request may.
 */
export function withoutDeadline<T>(work: () => T, payers = currentWork.getStore()?.payers ?? NOBODY): T {
  const patienceMs = patienceOf(currentWork.getStore());
  return currentWork.run({ payers, patienceMs, left: Infinity, isOver: false, whenOver: () => {} }, work);
}

/** Rolls back a transaction, or to a savepoint. */
const ROLLBACK = /^ROLLBACK\b/;

/**
 * At a request's deadline, undoes its open transaction and refuses its further statements. A statement
 * outside of a transaction continues: a time-out bounds it, and its connection can serve the next request.
 * @returns a function that makes the connection accept statements again
 */
function refuseFurther(client: PoolClient): () => void {
  const before = Object.getOwnPropertyDescriptor(client, 'query');
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const refuse = (statement: unknown, ...rest: unknown[]) =>
    ROLLBACK.test(String(statement))
      ? query(statement, ...rest)
      : Promise.reject(new NoConnection('The request has missed its deadline'));
  client.query = refuse as PoolClient['query'];
  if (client.getTransactionStatus() !== 'I') void client.query('ROLLBACK').catch(() => {});
  return () => {
    if (before) Object.defineProperty(client, 'query', before);
    else delete (client as Partial<PoolClient>).query;
  };
}

/** `pg` as the `driver` of a data source, with `LentPool` as its pool, which TypeORM creates when it connects. */
export interface LendingPg {
  pool?: LentPool;
}

export function lendingPg(): LendingPg {
  const driver: LendingPg = {};
  class DriverPool extends LentPool {
    constructor(config?: PoolConfig) {
      super(config);
      driver.pool = this;
    }
  }
  return Object.assign(driver, pg, { Pool: DriverPool });
}
