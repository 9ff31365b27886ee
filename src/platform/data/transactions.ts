import { Logger } from '@nestjs/common';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { PoolClient } from 'pg';
import { type DataSource, type EntityManager, QueryFailedError, type QueryRunner } from 'typeorm';
import {
  asPartOf,
  type Batcher,
  bytesOf,
  Connections,
  DeadlineClient,
  HostClient,
} from '../database/index.js';
import { ThrottledWarning } from '../telemetry/index.js';
import { AsksMore, OneStatement, statementsTogether, Unfit } from './one-statement.js';

/** What the work of a transaction has come to, and its last statements, which have been sent. */
interface Ending<T> {
  result: T;
  last: Promise<unknown>[];
  /** Whether the answer to its COMMIT is waited for. */
  matters: boolean;
}

/** TypeORM's `transaction`, in two round trips less: its look-ups go out with its begin, and its end with its last statements. */
async function inNewTransaction<T>(
  database: DataSource,
  work: (transaction: EntityManager) => Promise<Ending<T>>,
): Promise<T> {
  const runner = database.createQueryRunner();
  const giveBack = async () => {
    // A subscriber has kept it from being ended: nobody else must work in it.
    const client: unknown = runner.isTransactionActive && (await runner.connect());
    if (client instanceof HostClient) client.terminate('a transaction could not be ended');
    await runner.release();
  };
  let left: Promise<unknown> | undefined;
  try {
    const { begun } = await begin(runner);
    const { result, last, matters } = await work(runner.manager);
    await begun;
    // Right behind its last statements: if one of them fails, the server undoes all of it instead.
    const committed = settled([...last, runner.commitTransaction()]);
    if (matters) await committed;
    else left = committed;
    return result;
  } catch (error) {
    await runner.rollbackTransaction().catch(() => {});
    throw error;
  } finally {
    // Nobody waits for the end of what has only read.
    if (left) void left.catch(() => runner.rollbackTransaction()).then(giveBack, giveBack);
    else await giveBack();
  }
}

/** Begins a transaction. What the server says to that is `begun`. */
async function begin(runner: QueryRunner): Promise<{ begun: Promise<void> }> {
  const client: unknown = await asPartOf('transaction', () => runner.connect());
  const start = () => runner.startTransaction();
  if (client instanceof DeadlineClient) return client.beginBy(start);
  await start();
  return { begun: Promise.resolve() };
}

/**
 * `Promise.all` for the statements of a transaction, which are then sent together: it waits for all of them, also when one
 * has failed, so that none comes after the end of the transaction.
 * @throws the first failure
 */
async function settled<T extends readonly unknown[]>(
  promises: T,
): Promise<{ -readonly [Key in keyof T]: Awaited<T[Key]> }> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

type Insert = (values: unknown[]) => Promise<unknown>;

/** A transaction that is open. */
interface Session {
  manager: EntityManager;
  client: PoolClient;
  /** What is inserted at its end, by whatever it is inserted into. */
  last: Map<object, { values: unknown[]; insert: Insert }>;
  /** Whether it is being ended: what is still asked for would be done outside of it. */
  isOver: boolean;
  /** Whether its COMMIT may tell something: it has written, or a statement has failed. */
  matters: boolean;
}

/** What a piece of work has done in a transaction. */
interface Part {
  session: Session;
  /** Whether it has ended: what it still asks for would be nobody's. */
  isOver: boolean;
  /** Whether it has written a row by itself (`addRow`, `changeRow`), and asked for something after that. */
  hasRow: boolean;
  asksOn: boolean;
  /** Whether all of the transaction has to be undone. */
  failure?: { error: unknown };
}

const more = new ThrottledWarning(
  new Logger('Data'),
  'Work that is said to write one row (`writesRow`) asks for more, and so is done in a transaction',
);

const ENDED = 'The transaction has ended before all of its work was done';

const MORE =
  'Work that is said to write one row (`writesRow`) asks for more of the database: what belongs to the row is the second argument of `addRow`';

const known = new WeakMap<DataSource, Transactions>();

/**
 * The transaction that is open around the current call. A `FastRepository` works in it, and so does `manager`; whatever
 * else is called works on a connection of its own, as TypeORM documents.
 */
export class Transactions {
  private readonly open = new AsyncLocalStorage<Part>();
  private readonly statements = new AsyncLocalStorage<OneStatement>();
  /**
   * Kinds of work that are said to write one row, and whether they ask for nothing else. What is asked for behind the row would
   * come too late for its statement: so the first work of each kind is done in a transaction, which shows that.
   */
  private readonly fits = new Map<string, boolean>();
  private together?: Batcher<OneStatement, unknown[]>;

  private constructor(private readonly database: DataSource) {}

  /** Those of a data source, which are the same for all who ask. */
  static of(database: DataSource): Transactions {
    let transactions = known.get(database);
    if (!transactions) known.set(database, (transactions = new Transactions(database)));
    return transactions;
  }

  /**
   * TypeORM's manager of the open transaction, else that of no transaction.
   * @throws Error when that transaction has ended: somebody has not waited for all of its work
   */
  get manager(): EntityManager {
    const { current } = this;
    if (current) current.session.matters = true;
    return current?.session.manager ?? this.database.manager;
  }

  /** The same, for those who count their writes (`written`). */
  get connection(): EntityManager {
    return this.current?.session.manager ?? this.database.manager;
  }

  /**
   * Runs `work` in the open transaction, or else in a new one. An error undoes all of it, and all of the transaction that
   * it was part of, even if that goes on after the error. A request's transaction has until its answer is due: waiting for
   * its turn to get a connection, and for rows that others hold, is part of that time.
   * @throws Error as `manager` does
   */
  async run<T>(work: (transaction: EntityManager) => Promise<T>): Promise<T> {
    return this.runCounted(async (manager) => {
      this.open.getStore()!.session.matters = true;
      return work(manager);
    });
  }

  /** The same, for work that counts its writes (`written`). */
  async runCounted<T>(work: (transaction: EntityManager) => Promise<T>): Promise<T> {
    const { current } = this;
    if (!current) return this.in(this.database.manager, work);
    return asPart(current, () => work(current.session.manager));
  }

  /**
   * Runs work all of whose writes are one `addRow` or `changeRow`, what belongs to that row (`addRowsAtCommit`, the audit
   * log, jobs), and rows that are set before (`setRow`): in the open transaction, or else by one statement, and those of
   * one moment together, with one COMMIT. Work that asks for more, or whose rows are not as it has found them, is called again, in
   * a transaction of its own: until then, nothing was done.
   * @param kind names such work, such as an operation
   */
  async writesRow<T>(kind: string, work: () => Promise<T>): Promise<T> {
    if (this.gathering) return work();
    const { current } = this;
    if (current) return asPart(current, work);
    if (this.canBeOne(kind)) {
      const statement = new OneStatement((one) => this.runAlone(one));
      try {
        const result = await this.inOne(kind, statement, work);
        if (statement.isDone) return result;
      } catch (error) {
        if (!statement.isUndone && !(error instanceof Unfit)) throw error;
      }
    }
    return this.runCounted(() => this.watch(kind, work));
  }

  /** Whether work of a kind can be done by one statement, as far as is known. */
  canBeOne(kind: string): boolean {
    return this.fits.get(kind) === true;
  }

  /**
   * Runs work whose writes are gathered into one statement, in no transaction.
   * @throws Unfit where it asks for more than that can do, and nothing was done
   */
  async inOne<T>(kind: string, statement: OneStatement, work: () => Promise<T>): Promise<T> {
    try {
      return await this.statements.run(statement, work);
    } catch (error) {
      if (error instanceof AsksMore) this.note(kind, false);
      throw error;
    }
  }

  /** Runs work of a kind in the open transaction, and takes note of whether one statement could do it. */
  async watch<T>(kind: string, work: () => Promise<T>): Promise<T> {
    const part = this.open.getStore()!;
    const result = await work();
    if (part.hasRow && this.fits.get(kind) !== false) this.note(kind, !part.asksOn);
    return result;
  }

  private note(kind: string, fits: boolean): void {
    this.fits.set(kind, fits);
    if (!fits) more.add(kind);
  }

  private async runAlone(statement: OneStatement): Promise<unknown[]> {
    this.together ??= statementsTogether(Connections.of(this.database));
    const [{ text }, parameters] = statement.run;
    const [, isMade, ...row] = await this.together
      .add(statement, bytesOf(parameters))
      .catch((error: Error) => {
        throw new QueryFailedError(text, [...parameters], error);
      });
    if (!isMade) throw new Unfit('A row is not there, or not as it was');
    return row;
  }

  /** The statement that gathers the writes of the current work. @throws Error where it has been sent */
  get gathering(): OneStatement | undefined {
    const statement = this.statements.getStore();
    if (statement?.isSent) throw new Error(MORE);
    return statement;
  }

  /**
   * Leaves rows, whose answer nothing needs, to the end of the open transaction: they are inserted together with the COMMIT,
   * those of the same table by one statement. Without a transaction it is done at once. If PostgreSQL refuses them, nothing
   * of the transaction is done.
   * @param into what they are inserted into
   */
  async atCommit<T>(
    into: object,
    values: readonly T[],
    insert: (all: T[]) => Promise<unknown>,
  ): Promise<void> {
    const { current } = this;
    if (!current) return void (await insert([...values]));
    const { session } = current;
    session.matters = true;
    const { last } = session;
    const others = last.get(into);
    if (others) others.values.push(...values);
    else last.set(into, { values: [...values], insert: insert as Insert });
  }

  /** Takes note that the open transaction has written a row, which work of one statement does last. */
  rowWritten(): void {
    const part = this.open.getStore();
    if (part) part.hasRow = true;
  }

  /** Takes note that the open transaction writes, unless it has certainly written nothing: then nobody waits for its end. */
  async written<T>(write: () => Promise<T>, isNothing: (result: T) => boolean = () => false): Promise<T> {
    const part = this.current;
    if (!part) return write();
    const { session } = part;
    try {
      const result = await write();
      if (!isNothing(result)) session.matters = true;
      return result;
    } catch (error) {
      session.matters = true;
      throw error;
    }
  }

  /** Runs `work` in the transaction of a manager, or in a new one on its connection; it is then the open one. */
  in<T>(manager: EntityManager, work: (transaction: EntityManager) => Promise<T>): Promise<T> {
    const within = (own: EntityManager) =>
      this.within(own, (session) => this.runPart(partOf(session), () => work(own)));
    if (!manager.queryRunner) return inNewTransaction(this.database, within);
    const whole = async (own: EntityManager) => {
      const { result, last } = await within(own);
      await settled(last);
      return result;
    };
    return manager.queryRunner.isTransactionActive ? whole(manager) : manager.transaction(whole);
  }

  /**
   * The part of the open transaction that is the current call's.
   * @throws Error where it has ended: what is asked of it then would be done outside of it, or never
   */
  private get current(): Part | undefined {
    if (this.gathering) throw new AsksMore(MORE);
    const part = this.open.getStore();
    if (part?.session.isOver || part?.isOver) throw new Error(ENDED);
    if (part?.hasRow) part.asksOn = true;
    return part;
  }

  /** Runs one's work in a transaction. @throws what it throws */
  private async runPart<T>(part: Part, work: () => Promise<T>): Promise<T> {
    try {
      const result = await this.open.run(part, work);
      if (part.failure) throw part.failure.error;
      return result;
    } finally {
      part.isOver = true;
    }
  }

  /** Runs `work` in the transaction of a manager, to its end. */
  private async within<T>(
    manager: EntityManager,
    work: (session: Session) => Promise<T>,
  ): Promise<Ending<T>> {
    const client = (await manager.queryRunner!.connect()) as PoolClient;
    const session: Session = { manager, client, last: new Map(), isOver: false, matters: false };
    const inOpen = <Result>(step: () => Promise<Result>) =>
      asPartOf('within', () => this.open.run(partOf(session), step));
    try {
      const result = await inOpen(() => work(session));
      return { result, last: await inOpen(() => sendLast(session)), matters: session.matters };
    } finally {
      session.isOver = true;
    }
  }
}

/** Runs `work` as part of a transaction: all of it is undone if this part fails, whatever becomes of the failure. */
async function asPart<T>(part: Part, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    part.failure ??= { error };
    throw error;
  }
}

function partOf(session: Session): Part {
  return { session, isOver: false, hasRow: false, asksOn: false };
}

/**
 * Does the last of a transaction, up to where its statements have been sent.
 * @throws what keeps one from being sent
 */
async function sendLast({ client, last }: Session): Promise<Promise<unknown>[]> {
  const sent: Promise<unknown>[] = [];
  for (const { values, insert } of last.values()) {
    const isSent = client instanceof DeadlineClient ? client.sent() : undefined;
    const done = insert(values);
    done.catch(() => {});
    sent.push(done);
    await Promise.race([isSent ?? done, done]);
  }
  return sent;
}
