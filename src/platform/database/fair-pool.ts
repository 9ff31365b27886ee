import { AsyncLocalStorage } from 'node:async_hooks';
import { Logger } from '@nestjs/common';
import pg, { Pool, type PoolClient, type PoolConfig } from 'pg';
import { Shares } from '../process/index.js';
import { ThrottledWarning } from '../telemetry/index.js';
import { type Asker, asker } from './asker.js';
import type { DeadlineConfig } from './deadline-client.js';
import { HostClient } from './host-client.js';
import { TIMEOUTS } from './session-settings.js';

type Callback = (error?: Error, connection?: PoolClient, release?: (reason?: unknown) => void) => void;
/** A client; undefined for whoever asks for no other connection before giving this one back. */
type Holder = string | undefined;

/** A connection that is lent. */
interface Loan {
  holder: Holder;
  /** Closes the connection when the answer of the request is due. */
  timer?: NodeJS.Timeout;
}

/** Connections of a pool for what has a time of its own: reports. All of them together wait in one line for these. */
export const OWN_TIME_CONNECTIONS = 2;

/** What is different about these connections. */
export interface OwnTime {
  /** How long a statement may run there. A pooler would not hand the time on: where there is one, they lead past it. */
  readonly statement_timeout: number;
  readonly connectionString?: string;
}

/** The options of a pool; those that have a time of their own have what others have where it has nothing for them. */
export type FairPoolConfig = PoolConfig & DeadlineConfig & { readonly ownTime?: OwnTime };

/** Of fewer connections than these, a client may have all but one. */
const FEW = 4;

const beside = new ThrottledWarning(
  new Logger('Database'),
  'A statement inside of a transaction took a connection of its own, so it is no part of the transaction: ask `transactions.manager`, or a FastRepository',
);

/**
 * A pool that no client can use up, and in which whoever waits is served in turns by client. The last connection is kept for
 * those who ask for no other before they give it back, as most reads and creates do, and as a statement does that is
 * beside an open transaction: transactions that wait for one another's connections would wait for ever. Of `FEW` or
 * more, a client never has the last two.
 */
export class FairPool extends Pool {
  private readonly waiting = new Shares<() => void, Holder>();
  /** How many connections each has, or is about to get. */
  private readonly held = new Map<Holder, number>();
  private readonly loans = new WeakMap<PoolClient, Loan>();
  /** The sum of what is held. */
  private lent = 0;

  /** Where those wait that have a time of their own, once there are any. */
  private slow?: FairPool;

  private readonly ownTime?: () => FairPool;

  constructor({ ownTime, ...config }: FairPoolConfig = {}) {
    super(config);
    if (ownTime)
      this.ownTime = () => {
        // The server may be silent for as long as a statement may run.
        const silenceMs = ownTime.statement_timeout;
        const own = { ...config, ...ownTime, max: OWN_TIME_CONNECTIONS, silenceMs };
        return new FairPool(own).on('error', (error, client) => this.emit('error', error, client));
      };
    const { connectionTimeoutMillis } = this.options;
    // At the start, nobody waits for an answer, and loading the service on a busy machine blocks it for longer.
    this.options.connectionTimeoutMillis = TIMEOUTS.start;
    this.once('connect', () => (this.options.connectionTimeoutMillis = connectionTimeoutMillis));
    this.on('release', (_error, connection) => {
      const loan = this.loans.get(connection);
      if (!loan) return;
      clearTimeout(loan.timer);
      this.loans.delete(connection);
      this.giveBack(loan.holder);
    });
  }

  /** How many wait for a connection. */
  get inLine(): number {
    return this.waiting.size + this.waitingCount;
  }

  override connect(): Promise<PoolClient>;
  override connect(callback: Callback): void;
  override connect(callback?: Callback): Promise<PoolClient> | void {
    if (!callback)
      return new Promise((resolve, reject) =>
        this.connect((error, connection) => (error ? reject(error) : resolve(connection!))),
      );
    const whose = asker.getStore();
    if (whose?.hasOwnTime && this.ownTime) return (this.slow ??= this.ownTime()).connect(callback);
    const isBeside = whose?.part === 'within';
    if (isBeside) beside.add(callSite());
    if (isBeside && this.options.max === 1)
      return callback(
        new Error('A transaction has the only connection, and a statement beside it asks for another'),
      );
    const holder = isBeside ? undefined : whose?.client;
    if (this.waiting.sizeOf(holder) > 0 || !this.mayHold(holder)) this.queue(holder, whose, callback);
    else this.take(holder, whose, callback);
  }

  override end(): Promise<void>;
  override end(callback: () => void): void;
  override end(callback?: () => void): Promise<void> | void {
    void this.slow?.end();
    return callback ? super.end(callback) : super.end();
  }

  private mayHold(holder: Holder): boolean {
    const { max } = this.options;
    if (this.lent >= max) return false;
    if (holder === undefined || max === 1) return true;
    const ofClients = this.lent - (this.held.get(undefined) ?? 0);
    return ofClients < max - 1 && (max < FEW || (this.held.get(holder) ?? 0) < max - 2);
  }

  private hold(holder: Holder, more: 1 | -1): void {
    const count = (this.held.get(holder) ?? 0) + more;
    if (count > 0) this.held.set(holder, count);
    else this.held.delete(holder);
    this.lent += more;
  }

  /** The pool tells of a release before it has the connection back. Until then, nobody else may take it. */
  private giveBack(holder: Holder): void {
    if (this.waiting.size === 0) return this.hold(holder, -1);
    process.nextTick(() => {
      this.hold(holder, -1);
      this.next();
    });
  }

  private take(holder: Holder, whose: Asker | undefined, callback: Callback): void {
    this.hold(holder, 1);
    super.connect((error, connection, release) => {
      if (connection) this.loans.set(connection, { holder, timer: takeAway(connection, whose) });
      else this.giveBack(holder);
      callback(error, connection, release);
    });
  }

  /** Waits for a turn, and then for a new connection, together as long as `patienceOf` or the pool says. */
  private queue(holder: Holder, whose: Asker | undefined, callback: Callback): void {
    let isOver = false;
    const answer: Callback = (error, connection, release) => {
      clearTimeout(timer);
      if (!isOver) callback(error, connection, release);
      else if (connection) release!();
    };
    const take = AsyncLocalStorage.bind(() => this.take(holder, whose, answer));
    const timer = setTimeout(
      () => {
        isOver = true;
        this.waiting.delete(holder, take);
        callback(new Error('timeout exceeded when trying to connect'));
      },
      patienceOf(whose) ?? this.options.connectionTimeoutMillis,
    );
    this.waiting.add(holder, take);
  }

  /** Gives the connections that are free to those whose turn it is. */
  private next(): void {
    while (this.lent < this.options.max) {
      const take = this.waiting.takeTurn((holder) => this.mayHold(holder));
      if (!take) return;
      take();
    }
  }
}

/**
 * How long a request waits for a turn, in whole milliseconds: as long as there is time for what the connection is for. The
 * line moves while the database works, so that those who want one row are served one after the other. A transaction is
 * undone with its connection; a lone statement may go on in the server for as long as it is allowed to.
 */
function patienceOf(whose: Asker | undefined): number | undefined {
  if (!whose || whose.left === Infinity) return undefined;
  const needed = whose.part === 'transaction' ? TIMEOUTS.transaction : TIMEOUTS.statement;
  return Math.max(0, Math.floor(whose.left - needed - TIMEOUTS.taken));
}

/** Closes a connection that a request still has when the answer is due: what is not committed by then is undone. */
function takeAway(connection: PoolClient, whose: Asker | undefined): NodeJS.Timeout | undefined {
  if (!whose || whose.left === Infinity || !(connection instanceof HostClient)) return undefined;
  const close = () => {
    // An answer has begun that is sent as it is made.
    if (whose.left === Infinity) return;
    whose.ranOut();
    connection.terminate('the request has taken too long');
  };
  return setTimeout(close, Math.max(0, Math.floor(whose.left - TIMEOUTS.taken)));
}

/** The place in the code of a feature that the current call comes from. */
function callSite(): string {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 50;
  const lines = new Error('asked').stack!.split('\n').slice(1);
  Error.stackTraceLimit = stackTraceLimit;
  return lines.find((line) => !/node:|node_modules|platform\/database/.test(line))?.trim() ?? 'unknown';
}

/** `pg` as the `driver` of a data source, with such a pool, which is the one pool of a process: TypeORM makes it as it connects. */
export interface FairPg {
  pool?: FairPool;
}

export function fairPg(): FairPg {
  const driver: FairPg = {};
  class OwnPool extends FairPool {
    constructor(config?: FairPoolConfig) {
      super(config);
      driver.pool = this;
    }
  }
  return Object.assign(driver, pg, { Pool: OwnPool });
}
