import { Logger } from '@nestjs/common';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { PoolClient } from 'pg';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { ApiError } from '../api/index.js';
import {
  asPartOf,
  Batcher,
  Connections,
  DeadlineClient,
  isUnavailable,
  isUndone,
  made,
  type Outcome,
} from '../database/index.js';
import { ThrottledWarning } from '../telemetry/index.js';
import { AsksMore, type OneStatement } from './one-statement.js';

/** What the work of a transaction has come to, and its last statements, which have been sent. */
interface Ending<T> {
  result: T;
  last: Promise<unknown>[];
  /** Whether the answer to its COMMIT is waited for. */
  matters: boolean;
}

/** A transaction that was certainly undone, for what one of those who share it has done or cannot do in company. */
class UndoneError extends Error {}

/** TypeORM's `transaction`, in two round trips less: its look-ups go out with its begin, and its end with its last statements. */
async function inNewTransaction<T>(
  database: DataSource,
  work: (transaction: EntityManager) => Promise<Ending<T>>,
): Promise<T> {
  const runner = database.createQueryRunner();
  let left: Promise<void> | undefined;
  try {
    const { begun } = await begin(runner);
    const { result, last, matters } = await work(runner.manager);
    await begun;
    const committed = commit(runner, last);
    if (matters) await committed;
    else left = committed;
    return result;
  } catch (error) {
    await runner.rollbackTransaction().catch(() => {});
    throw error;
  } finally {
    // Nobody waits for the end of what has only read.
    if (left) void left.catch(() => {}).then(() => runner.release());
    else await runner.release();
  }
}

/** The connection of a transaction that is begun and ended here; a subscriber is told of both by TypeORM, and waited for. */
async function quickClient(runner: QueryRunner): Promise<DeadlineClient | undefined> {
  const client: unknown = await asPartOf('transaction', () => runner.connect());
  return client instanceof DeadlineClient && runner.dataSource.subscribers.length === 0 ? client : undefined;
}

/** Begins a transaction. What the server says to that is `begun`. */
async function begin(runner: QueryRunner): Promise<{ begun: Promise<void> }> {
  const client = await quickClient(runner);
  if (!client) {
    await runner.startTransaction();
    return { begun: Promise.resolve() };
  }
  const begun = client.begin();
  // Where it fails, so do the statements behind it.
  begun.catch(() => {});
  Object.assign(runner, { isTransactionActive: true, transactionDepth: 1 });
  return { begun };
}

/**
 * Ends a transaction, right behind its last statements: if one of them fails, the server undoes all of it instead.
 * @throws what one of them has failed for; UndoneError where the server has undone it for a failure that the work has ignored
 */
async function commit(runner: QueryRunner, last: readonly Promise<unknown>[]): Promise<void> {
  const client = await quickClient(runner);
  if (!client) {
    await settled(last);
    return runner.commitTransaction();
  }
  const [{ command }] = await settled([client.query('COMMIT'), ...last]);
  Object.assign(runner, { isTransactionActive: false, transactionDepth: 0 });
  if (command !== 'COMMIT')
    throw new UndoneError('The transaction was undone: a failure of one of its statements was ignored');
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

/** For how many milliseconds a group waits for what others have locked. */
const BRIEF_MS = 50;

/** Milliseconds after which those who share a transaction no longer wait for one that does something else. */
const PATIENCE_MS = 1_000;

type Insert = (values: unknown[]) => Promise<unknown>;

/** A transaction that is open, for all whose work it is. */
interface Session {
  manager: EntityManager;
  client: PoolClient;
  /** What is inserted at its end, by whatever it is inserted into. */
  last: Map<object, { values: unknown[]; insert: Insert }>;
  /** Whether it is being ended: what is still asked for would be done outside of it. */
  isOver: boolean;
  /** Whether its COMMIT may tell something: it has written, or a statement has failed. */
  matters: boolean;
  /** Where several share it: their calls of the same kind, and who has which row. */
  shared?: { calls: Map<object, Batcher<unknown, unknown>>; owners: Map<string, Part> };
}

/** The part of a transaction that is one caller's. */
interface Part {
  session: Session;
  /** Its writes that were made, or may still be. */
  writes: number;
  /** Whether it has ended: what it still asks for would be nobody's. */
  isOver: boolean;
  /** Where several share the transaction: whether it has rows, and what tells the others that it has ended. */
  hasRows: boolean;
  /** Whether it has written a row by itself (`addRow`, `changeRow`), and asked for something after that. */
  hasRow: boolean;
  asksOn: boolean;
  ended: PromiseWithResolvers<void>;
  /** Whether all of the transaction has to be undone. */
  failure?: { error: unknown };
}

/** One of those who share a transaction, and the context of its request. */
interface Member {
  work: () => Promise<unknown>;
  inContext: <T>(run: () => T) => T;
}

/** That work asks for what it cannot have in company. */
class AloneError extends UndoneError {}

const alone = new ThrottledWarning(
  new Logger('Data'),
  'Work that was to share its transaction was done again, alone, and so took twice as long',
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
  private readonly groups = new Map<string, Batcher<Member, unknown>>();
  private readonly statements = new AsyncLocalStorage<OneStatement>();

  private constructor(private readonly database: DataSource) {}

  /** Those of a data source, which are the same for all who ask. */
  static of(database: DataSource): Transactions {
    let transactions = known.get(database);
    if (!transactions) known.set(database, (transactions = new Transactions(database)));
    return transactions;
  }

  /**
   * TypeORM's manager of the open transaction, else that of no transaction. Work that several share a transaction for is
   * done alone if it asks for the manager: nothing tells what is done with it, such as a savepoint, or a row's lock.
   * @throws Error when that transaction has ended: somebody has not waited for all of its work
   */
  get manager(): EntityManager {
    const { current } = this;
    if (current?.session.shared) throw new AloneError('it asks for the manager');
    if (current) current.writes++;
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
      const part = this.open.getStore()!;
      part.writes++;
      if (part.session.shared && work.length > 0) throw new AloneError('it takes the manager');
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
   * Runs `work` in the open transaction, or else in one that it shares with others of its kind which come at the same
   * moment: their statements of the same kind are one, and so is their COMMIT (a group commit). A row that one of them
   * changes or holds is out of reach of the others until its work has ended. An error undoes what its own work has done,
   * and harms nobody else's: then each is done again, in a transaction of its own. So `work` may be called twice, and asks
   * the database alone, by a `FastRepository`: what waits for anything else holds up the others.
   * @param kind names what shares transactions, such as an operation
   * @param bytes about how much it writes: what is large goes alone
   */
  async group<T>(kind: string, work: () => Promise<T>, bytes = 0): Promise<T> {
    if (this.gathering) return work();
    const { current } = this;
    if (current) return asPart(current, work);
    let group = this.groups.get(kind);
    if (!group) this.groups.set(kind, (group = this.newGroup(kind)));
    return group.add({ work, inContext: AsyncLocalStorage.snapshot() }, bytes) as Promise<T>;
  }

  private newGroup(kind: string): Batcher<Member, unknown> {
    const { writes } = Connections.of(this.database);
    const making = {
      make: async (members: Member[]) => {
        if (members.length > 1) return this.runTogether(kind, members);
        const [{ work, inContext }] = members as [Member];
        return made([await inContext(() => this.runCounted(work))]);
      },
      canRepeat: (error: unknown) => error instanceof UndoneError || isUndone(error),
      tryAlone: ({ work, inContext }: Member, lockMs: number) =>
        inContext(() =>
          this.runCounted(async (transaction) => {
            await transaction.query(briefly(lockMs));
            return work();
          }),
        ),
    };
    return new Batcher<Member, unknown>(making, writes);
  }

  /**
   * Runs work whose writes are gathered into one statement, in no transaction.
   * @throws Unfit where it asks for more than that can do, and nothing was done
   */
  inOne<T>(statement: OneStatement, work: () => Promise<T>): Promise<T> {
    return this.statements.run(statement, work);
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
    current.writes++;
    const { last } = current.session;
    const others = last.get(into);
    if (others) others.values.push(...values);
    else last.set(into, { values: [...values], insert: insert as Insert });
  }

  /** Takes note that the open transaction has written a row, which work of one statement does last. */
  rowWritten(): void {
    const part = this.open.getStore();
    if (part) part.hasRow = true;
  }

  /** Whether the open transaction has been asked for something behind its row: no one statement could do that. */
  get hasAskedOn(): boolean {
    return this.open.getStore()?.asksOn ?? false;
  }

  /** Counts a write of the open transaction, unless it has certainly written nothing. */
  async written<T>(write: () => Promise<T>, isNothing: (result: T) => boolean = () => false): Promise<T> {
    const part = this.current;
    if (!part) return write();
    part.writes++;
    try {
      const result = await write();
      if (isNothing(result)) part.writes--;
      return result;
    } catch (error) {
      part.session.matters = true;
      if (error instanceof ApiError || isUndone(error)) part.writes--;
      throw error;
    }
  }

  /**
   * Calls of one kind in a transaction that several share, to be made together; undefined where nobody shares it.
   * @param make makes them in that transaction, in the context of nobody's request
   */
  gathered<Item, Result>(
    manager: EntityManager,
    kind: object,
    make: (items: Item[]) => Promise<Outcome<Result>[]>,
  ): Batcher<Item, Result> | undefined {
    const { session } = this.current ?? {};
    if (!session?.shared || session.manager !== manager) return undefined;
    const { calls } = session.shared;
    let together = calls.get(kind) as Batcher<Item, Result> | undefined;
    if (!together) {
      const within = (items: Item[]) => this.open.run(partOf(session), () => make(items));
      together = new Batcher<Item, Result>({ make: within });
      calls.set(kind, together as Batcher<unknown, unknown>);
    }
    return together;
  }

  /**
   * In a transaction that several share, in which a row's lock keeps out none of them: waits until no other one has the
   * row.
   * @param row names the row; undefined if it is not known which it is, and so cannot be had in company
   * @param has whether the current one has it from then on, until its work has ended
   */
  async reach(row: string | undefined, has: boolean): Promise<void> {
    const part = this.current;
    const owners = part?.session.shared?.owners;
    if (!owners) return;
    if (row === undefined) throw new AloneError('it asks for a row by something else than its key');
    for (let owner = owners.get(row); owner && owner !== part && !owner.isOver; owner = owners.get(row)) {
      // Whoever has rows waits for none, so that no two wait for each other.
      if (part.hasRows) throw new UndoneError('it asks for a row that another has');
      await owner.ended.promise;
    }
    if (part.isOver) throw new UndoneError(ENDED);
    if (!has) return;
    owners.set(row, part);
    part.hasRows = true;
  }

  /** Runs `work` in the transaction of a manager, or in a new one on its connection; it is then the open one. */
  in<T>(manager: EntityManager, work: (transaction: EntityManager) => Promise<T>): Promise<T> {
    const within = (own: EntityManager) =>
      this.within(own, {}, (session) => this.runPart(partOf(session), () => work(own)));
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

  /** Runs all of a group in one transaction. @throws UndoneError where each has to be done alone */
  private runTogether(kind: string, members: readonly Member[]): Promise<Outcome<unknown>[]> {
    return inNewTransaction(this.database, (manager) => {
      const shared = { calls: new Map(), owners: new Map() };
      const ending = this.within(manager, { shared }, async (session) => {
        session.client.query(briefly(BRIEF_MS)).catch(() => {});
        const all = members.map(({ work, inContext }) =>
          inContext(() => asPartOf('within', () => this.runOneOfMany(partOf(session), work))),
        );
        const outcomes = await inTime(Promise.allSettled(all), session);
        const undone = outcomes.find((one) => one.status === 'rejected' && one.reason instanceof UndoneError);
        if (undone) throw (undone as PromiseRejectedResult).reason;
        return outcomes;
      });
      // Nothing was sent to be committed.
      return ending.catch((error: Error) => {
        const { cause = error } = error;
        if (cause instanceof AloneError) alone.add(`${kind}: ${cause.message}`);
        throw isUnavailable(error) ? error : new UndoneError(error.message, { cause: error });
      });
    });
  }

  /** Runs one's work in a transaction. @throws what it throws */
  private async runPart<T>(part: Part, work: () => Promise<T>): Promise<T> {
    try {
      const result = await this.open.run(part, work);
      if (part.failure) throw part.failure.error;
      return result;
    } finally {
      if (part.writes > 0) part.session.matters = true;
      part.isOver = true;
      part.ended.resolve();
    }
  }

  /** The same in a transaction that several share. @throws UndoneError if all of it has to be undone */
  private async runOneOfMany<T>(part: Part, work: () => Promise<T>): Promise<T> {
    try {
      return await this.runPart(part, work);
    } catch (error) {
      if (part.writes === 0) throw error;
      throw new UndoneError('One of those who share a transaction has failed', { cause: error });
    }
  }

  /** Runs `work` in the transaction of a manager, to its end. */
  private async within<T>(
    manager: EntityManager,
    more: Pick<Session, 'shared'>,
    work: (session: Session) => Promise<T>,
  ): Promise<Ending<T>> {
    const client = (await manager.queryRunner!.connect()) as PoolClient;
    const session: Session = { manager, client, last: new Map(), isOver: false, matters: false, ...more };
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
  const [isOver, hasRows, hasRow, asksOn] = [false, false, false, false];
  return { session, writes: 0, isOver, hasRows, hasRow, asksOn, ended: Promise.withResolvers() };
}

const briefly = (lockMs: number) => `SET LOCAL lock_timeout = ${lockMs}`;

/** @throws UndoneError where one of a group takes too long; whatever it still does goes nowhere */
async function inTime<T>(all: Promise<T>, { client }: Session): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  let isOver = false;
  const giveUp = () => {
    if (isOver) return;
    const reason = 'one of those who share a transaction takes too long';
    if (client instanceof DeadlineClient) client.terminate(reason);
    reject(new UndoneError(reason));
  };
  // After a turn of the event loop that took long, what has arrived is read after the timers and before this.
  const timer = setTimeout(() => setImmediate(giveUp), PATIENCE_MS);
  try {
    return await Promise.race([all, late]);
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
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
