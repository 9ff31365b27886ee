import { AsyncLocalStorage } from 'node:async_hooks';
import pg, { Pool, type PoolClient, type PoolConfig } from 'pg';
import { Quota } from '../process/index.js';
import { type Asker, asker } from './asker.js';
import { TIMEOUTS } from './session-settings.js';
import { isUnavailable, NoConnection } from './unavailable.js';

type Callback = (error?: Error, client?: PoolClient, release?: (reason?: Error | boolean) => void) => void;

/** Connections of a process for operations with a time limit of their own: reports. */
export const OWN_TIME_CONNECTIONS = 2;

/** The options that differ for these. A pooler would not pass the time-outs on, so these connections lead past it. */
export type OwnTime = Pick<
  PoolConfig,
  'statement_timeout' | 'query_timeout' | 'connectionString' | 'pipeline' | 'onConnect'
>;

interface Loan {
  readonly caller: string | undefined;
  readonly deadline?: NodeJS.Timeout;
}

/**
 * The pool of `pg` with a quota and a deadline: one caller gets at most half of the connections, and waits for more in a
 * queue of its own; a request's connections are closed when its answer is due, which undoes its open transaction. A COMMIT, or a
 * statement outside of a transaction, that the server is running then may still take effect.
 */
export class LentPool extends Pool {
  private readonly quota: Quota;
  private readonly loans = new WeakMap<PoolClient, Loan>();
  private readonly ownTime?: LentPool;

  constructor({ ownTime, ...config }: PoolConfig & { ownTime?: OwnTime } = {}) {
    super(config);
    this.quota = new Quota(this.options.max);
    if (ownTime) {
      this.ownTime = new LentPool({ ...config, ...ownTime, max: OWN_TIME_CONNECTIONS });
      this.ownTime.on('error', (error, client) => this.emit('error', error, client));
    }
    const { connectionTimeoutMillis } = this.options;
    // At the start, no client waits for an answer, and loading the service on a busy machine takes longer.
    this.options.connectionTimeoutMillis = TIMEOUTS.start;
    this.once('connect', () => (this.options.connectionTimeoutMillis = connectionTimeoutMillis));
    // An error of a lent connection fails its statement too; without a listener, the error would end the process.
    this.on('connect', (client) => client.on('error', () => {}));
    // The pool emits `release` before it has the connection back, so the quota is released a tick later.
    this.on('release', (_error, client) => {
      const loan = this.loans.get(client);
      if (!loan) return;
      clearTimeout(loan.deadline);
      this.loans.delete(client);
      process.nextTick(() => this.quota.release(loan.caller));
    });
  }

  /** The number of callers that wait for a connection. */
  get queued(): number {
    // pg-pool queues even a call that an idle connection serves in the next tick.
    return this.quota.waiting + Math.max(0, this.waitingCount - this.idleCount);
  }

  /** Of these callers, the one that holds the fewest connections. */
  leastBusy(callers: Iterable<string>): string | undefined {
    return [...callers].toSorted((one, other) => this.quota.held(one) - this.quota.held(other))[0];
  }

  /** Whether a caller has to wait until it returns a connection. */
  isFull(caller: string | undefined): boolean {
    return this.quota.held(caller) >= this.quota.half;
  }

  override connect(): Promise<PoolClient>;
  override connect(callback: Callback): void;
  override connect(callback?: Callback): Promise<PoolClient> | void {
    const work = asker.getStore();
    const lent = work?.hasOwnTime && this.ownTime ? this.ownTime.connect() : this.lend(work);
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
    void this.ownTime?.end();
    return callback ? super.end(callback) : super.end();
  }

  private async lend(work: Asker | undefined): Promise<PoolClient> {
    const caller = work?.client;
    if (!this.quota.tryAcquire(caller))
      await this.quota.acquire(
        caller,
        this.patienceOf(work),
        () => new NoConnection('No connection was free in time'),
      );
    try {
      const client = await super.connect();
      this.loans.set(client, { caller, deadline: deadlineOf(client, work) });
      return client;
    } catch (error) {
      this.quota.release(caller);
      // Any other failure too, such as a certificate that cannot be read.
      throw isUnavailable(error) ? error : new NoConnection((error as Error).message, { cause: error });
    }
  }

  /** Milliseconds to wait for a connection: for a request, while enough time is left to use it. */
  private patienceOf(work: Asker | undefined): number {
    const { connectionTimeoutMillis = TIMEOUTS.connect } = this.options;
    if (!work || work.left === Infinity) return connectionTimeoutMillis;
    return Math.max(0, Math.floor(work.left - TIMEOUTS.transaction - TIMEOUTS.abortMargin));
  }
}

/** Runs work that may go on after the request: it counts as the caller's, and has no deadline. */
export function withoutDeadline<T>(work: () => T, client = asker.getStore()?.client): T {
  if (client === undefined) return asker.run(undefined, work);
  return asker.run({ client, left: Infinity, whenOver: () => {}, ranOut: () => {} }, work);
}

/**
 * Closes the connection of a request shortly before the answer is due. With `pipeline`, `pg` takes no further statement, and
 * closes the connection once those that were sent are done, which the time-outs of a statement bound: 1.3 seconds. Without, as
 * for operations with a time of their own, it cuts the connection off, and PostgreSQL ends the statement.
 */
function deadlineOf(client: PoolClient, work: Asker | undefined): NodeJS.Timeout | undefined {
  if (!work || work.left === Infinity) return undefined;
  const close = () => {
    // The answer is a stream that has started.
    if (work.left === Infinity) return;
    work.ranOut();
    void client.end();
  };
  return setTimeout(close, Math.max(0, Math.floor(work.left - TIMEOUTS.abortMargin)));
}

/** `pg` as the `driver` of a data source, with a `LentPool`: TypeORM creates the one pool of the process as it connects. */
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
