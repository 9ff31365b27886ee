import { AsyncLocalStorage } from 'node:async_hooks';
import pg, { Pool, type PoolClient, type PoolConfig } from 'pg';
import { Quota } from '../process/index.js';
import { type Asker, asker } from './asker.js';
import { TIMEOUTS } from './session-settings.js';
import { isUnavailable, NoConnection } from './unavailable.js';

type Callback = (error?: Error, client?: PoolClient, release?: (reason?: Error | boolean) => void) => void;

/** Connections of a process for what has a time of its own: reports. */
export const OWN_TIME_CONNECTIONS = 2;

/** What is different about those. A pooler would not hand the time on: where there is one, they lead past it. */
export type OwnTime = Pick<PoolConfig, 'statement_timeout' | 'query_timeout' | 'connectionString'>;

/** A connection that is lent. */
interface Loan {
  readonly caller: string | undefined;
  /** Closes it shortly before the answer of its request is due. */
  readonly deadline?: NodeJS.Timeout;
}

/**
 * The pool of `pg`, with a quota and a deadline: one caller has at most half of the connections, and waits for more in a line of
 * its own; what a request has not committed when its answer is due is undone, as its connections are closed.
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
    // At the start, nobody waits for an answer, and loading the service on a busy machine blocks it for longer.
    this.options.connectionTimeoutMillis = TIMEOUTS.start;
    this.once('connect', () => (this.options.connectionTimeoutMillis = connectionTimeoutMillis));
    // What fails while a connection is lent fails the statement too; without a listener, it would end the process.
    this.on('connect', (client) => client.on('error', () => {}));
    // The pool tells of a release before it has the connection back; until then, nobody else may take it.
    this.on('release', (_error, client) => {
      const loan = this.loans.get(client);
      if (!loan) return;
      clearTimeout(loan.deadline);
      this.loans.delete(client);
      process.nextTick(() => this.quota.release(loan.caller));
    });
  }

  /** How many wait for a connection. */
  get inLine(): number {
    return this.quota.waiting + this.waitingCount;
  }

  override connect(): Promise<PoolClient>;
  override connect(callback: Callback): void;
  override connect(callback?: Callback): Promise<PoolClient> | void {
    const whose = asker.getStore();
    const lent = whose?.hasOwnTime && this.ownTime ? this.ownTime.connect() : this.lend(whose);
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

  private async lend(whose: Asker | undefined): Promise<PoolClient> {
    const caller = whose?.client;
    if (!this.quota.tryAcquire(caller))
      await this.quota.acquire(
        caller,
        this.patienceOf(whose),
        () => new NoConnection('No connection was free in time'),
      );
    try {
      const client = await super.connect();
      this.loans.set(client, { caller, deadline: deadlineOf(client, whose) });
      return client;
    } catch (error) {
      this.quota.release(caller);
      // Whatever it is, such as a certificate that cannot be read.
      throw isUnavailable(error) ? error : new NoConnection((error as Error).message, { cause: error });
    }
  }

  /** How long one waits for its turn, in milliseconds: a request as long as there is time for what the connection is for. */
  private patienceOf(whose: Asker | undefined): number {
    const { connectionTimeoutMillis = TIMEOUTS.connect } = this.options;
    if (!whose || whose.left === Infinity) return connectionTimeoutMillis;
    return Math.max(0, Math.floor(whose.left - TIMEOUTS.transaction - TIMEOUTS.taken));
  }
}

/** Closes a connection that a request still has shortly before its answer is due. */
function deadlineOf(client: PoolClient, whose: Asker | undefined): NodeJS.Timeout | undefined {
  if (!whose || whose.left === Infinity) return undefined;
  const close = () => {
    // An answer has begun that is sent as it is made.
    if (whose.left === Infinity) return;
    whose.ranOut();
    void client.end();
  };
  return setTimeout(close, Math.max(0, Math.floor(whose.left - TIMEOUTS.taken)));
}

/** `pg` as the `driver` of a data source, with such a pool, which is the one pool of a process: TypeORM makes it as it connects. */
export interface LendingPg {
  pool?: LentPool;
}

export function lendingPg(): LendingPg {
  const driver: LendingPg = {};
  class OwnPool extends LentPool {
    constructor(config?: PoolConfig) {
      super(config);
      driver.pool = this;
    }
  }
  return Object.assign(driver, pg, { Pool: OwnPool });
}
