import { AsyncLocalStorage } from 'node:async_hooks';
import pg, { Pool, type PoolClient, type PoolConfig } from 'pg';

type Callback = (error?: Error, connection?: PoolClient, release?: (reason?: unknown) => void) => void;
/** A client, as `networkOf` says; undefined for what is done for several at once, or for nobody. */
type Holder = string | undefined;

/** Of fewer connections than these, none is kept back. */
const FEW = 4;

/** The client whose request the current call works on. */
export const clientOfRequest = new AsyncLocalStorage<Holder>();

/**
 * A pool that no client can use up: those who wait get connections in turns. Of `FEW` or more, a client never has the last
 * two, and one is kept for what is done for several at once, as most reads and creates are.
 */
export class FairPool extends Pool {
  /** Those who wait, by client; the clients in the order of their turns. */
  private readonly lines = new Map<Holder, Set<() => void>>();
  /** How many connections each has, or is about to get. */
  private readonly held = new Map<Holder, number>();
  private readonly holders = new WeakMap<PoolClient, Holder>();
  /** The sum of what is held. */
  private lent = 0;

  constructor(config?: PoolConfig) {
    super(config);
    this.on('release', (_error, connection) => {
      if (this.holders.has(connection)) this.giveBack(this.holders.get(connection));
      this.holders.delete(connection);
    });
  }

  /** How many wait for a connection. */
  get inLine(): number {
    return [...this.lines.values()].reduce((sum, line) => sum + line.size, this.waitingCount);
  }

  override connect(): Promise<PoolClient>;
  override connect(callback: Callback): void;
  override connect(callback?: Callback): Promise<PoolClient> | void {
    if (!callback)
      return new Promise((resolve, reject) =>
        this.connect((error, connection) => (error ? reject(error) : resolve(connection!))),
      );
    const holder = clientOfRequest.getStore();
    if (this.lines.has(holder) || !this.mayHold(holder)) this.queue(holder, callback);
    else this.take(holder, callback);
  }

  private mayHold(holder: Holder): boolean {
    const { max } = this.options;
    if (this.lent >= max) return false;
    if (holder === undefined || max < FEW) return true;
    const ofClients = this.lent - (this.held.get(undefined) ?? 0);
    return ofClients < max - 1 && (this.held.get(holder) ?? 0) < max - 2;
  }

  private hold(holder: Holder, more: 1 | -1): void {
    const count = (this.held.get(holder) ?? 0) + more;
    if (count > 0) this.held.set(holder, count);
    else this.held.delete(holder);
    this.lent += more;
  }

  /** The pool tells of a release before it has the connection back. Until then, nobody else may take it. */
  private giveBack(holder: Holder): void {
    if (this.lines.size === 0) return this.hold(holder, -1);
    process.nextTick(() => {
      this.hold(holder, -1);
      this.next();
    });
  }

  private take(holder: Holder, callback: Callback): void {
    this.hold(holder, 1);
    const got: Callback = (error, connection, release) => {
      if (connection) this.holders.set(connection, holder);
      else this.giveBack(holder);
      callback(error, connection, release);
    };
    try {
      super.connect(got);
    } catch (error) {
      // Of the client that is made: of a certificate that cannot be read.
      got(error as Error);
    }
  }

  /** Waits for a turn, and then for a new connection, together no longer than the pool makes others wait for one. */
  private queue(holder: Holder, callback: Callback): void {
    const line = this.lines.get(holder) ?? new Set();
    let isOver = false;
    const answer: Callback = (error, connection, release) => {
      clearTimeout(timer);
      if (!isOver) callback(error, connection, release);
      else if (connection) release!();
    };
    const take = AsyncLocalStorage.bind(() => this.take(holder, answer));
    const timer = setTimeout(() => {
      isOver = true;
      if (line.delete(take) && line.size === 0) this.lines.delete(holder);
      callback(new Error('timeout exceeded when trying to connect'));
    }, this.options.connectionTimeoutMillis);
    this.lines.set(holder, line.add(take));
  }

  /** Gives the connections that are free to those whose turn it is. */
  private next(): void {
    for (const [holder, line] of this.lines) {
      if (this.lent >= this.options.max) return;
      if (!this.mayHold(holder)) continue;
      const [take] = line;
      line.delete(take!);
      this.lines.delete(holder);
      // Behind the others.
      if (line.size > 0) this.lines.set(holder, line);
      take!();
    }
  }
}

/** `pg` with such pools, as the `driver` of TypeORM. */
export const FAIR_PG = { ...pg, Pool: FairPool };
