import {
  type DataSource,
  type EntityManager,
  type EntityMetadata,
  type ObjectLiteral,
  QueryFailedError,
  Repository,
  type SelectQueryBuilder,
} from 'typeorm';
import { ApiError, decodeCursor, type ErrorCode, Page, type Put } from '../api/index.js';
import { OperatorError } from '../process/index.js';
import { Listing, type Order } from './listing.js';
import { PreparedRows } from './prepared-rows.js';
import type { Sql } from '../database/index.js';
import { type Draft, type OneStatement, Unfit } from './one-statement.js';
import type { Asked, Filter, Rows, RowsInOne, Values, Where, Which } from './rows.js';
import { type Ordered, Search } from './searches.js';
import { Shape } from './shape.js';
import { Transactions } from './transactions.js';
import { TypeOrmRows, whyNotPrepared } from './typeorm-rows.js';

/** The rows of an entity, and the subscribers that there were when it was decided how they are read and written. */
interface Chosen {
  rows: Rows;
  subscribers: readonly unknown[];
}

const chosen = new WeakMap<EntityMetadata, Chosen>();

/**
 * TypeORM's repository, and beside it methods for what requests do all the time. TypeORM's own do what TypeORM documents.
 * Those here run in the open transaction (`Transactions`); outside of one they are prepared statements which calls of the
 * same moment share, and they answer as if each were alone. An entity that is more than the columns of a table (eager
 * and lazy relations, embedded objects, listeners, subscribers and the like) is served by TypeORM's own methods instead;
 * the start says so.
 */
export class FastRepository<Entity extends ObjectLiteral> extends Repository<Entity> {
  /** The row with these values, or null. Of several, any one. */
  async findRow(where: Where<Entity>): Promise<Entity | null> {
    requireValues(where);
    return this.rows.find(this.current, where) as Promise<Entity | null>;
  }

  /** The row with these values. @throws ApiError with the code `missing` where there is none */
  async getRow(where: Where<Entity>, missing: ErrorCode): Promise<Entity> {
    const row = await this.findRow(where);
    if (!row) throw new ApiError(missing);
    return row;
  }

  /**
   * Inserts a row; returns it as it is stored.
   * @param also adds what belongs to it in the same transaction, such as its audit record, and waits for that. What the
   *   table assigns, such as the id, may be an `Assigned` there, which another row or a record can be given
   * @throws QueryFailedError that `violation` can turn into an ApiError
   */
  async addRow(values: Values<Entity>, also?: (row: Draft<Entity>) => unknown): Promise<Entity> {
    const { transactions, one } = this;
    if (one) return this.inOne.add(one, values, also as (row: ObjectLiteral) => unknown) as Promise<Entity>;
    const add = async () => {
      const { current } = this;
      const row = (await transactions.written(() => this.rows.add(current, values))) as Entity;
      await also?.(row);
      transactions.rowWritten();
      return row;
    };
    return also ? this.whole(add) : add();
  }

  /** Inserts rows by one statement; returns them in the same order. */
  async addRows(values: readonly Values<Entity>[]): Promise<Entity[]> {
    const { current } = this;
    return this.transactions.written(() => this.rows.addAll(current, values)) as Promise<Entity[]>;
  }

  /** Inserts rows that nobody reads, at the end of the open transaction: together with its COMMIT, if one statement does it. */
  async addRowsAtCommit(...rows: Values<Draft<Entity>>[]): Promise<void> {
    // Outside of the statement that gathers them, nothing is a draft's.
    const values = rows as Values<Entity>[];
    const { one } = this;
    if (one) return values.forEach((row) => one.add(this.inOne.unread(row)));
    const kind = this.rows.unread(values);
    const add = (all: Values<Entity>[]) => this.rows.addUnread(this.current, all);
    if (kind) await this.transactions.atCommit(kind, values, add);
    else await this.addRows(values);
  }

  /** Sets properties of all rows with these values; returns the rows, in no order. */
  async updateRows(which: Which<Entity>, values: Values<Entity>): Promise<Entity[]> {
    requireValues(which);
    const { current, transactions } = this;
    const update = () => this.rows.update(current, which, values);
    return transactions.written(update, ({ length }) => length === 0) as Promise<Entity[]>;
  }

  /** Sets properties of the row with these values, the key among them; false if there is none. */
  async setRow(where: Where<Entity>, values: Values<Entity>): Promise<boolean> {
    this.requireKey(where);
    const { one } = this;
    if (!one) return (await this.updateRows(where, values)).length > 0;
    // If there is none, nothing of the statement is done, and all of the work done again in a transaction.
    one.require(this.inOne.set(where, values));
    return true;
  }

  /**
   * Adds a row under a key that the caller gives, or sets the values of the one that is there, and tells which: of several
   * at once, one adds it. It is one statement, but for entities that TypeORM serves.
   * @param where the key, and what a row that is there must have too, such as its account: any other is left as it is
   * @throws ApiError with the code `missing` where the row that is there is another one
   */
  async putRow(where: Where<Entity>, values: Values<Entity>, missing: ErrorCode): Promise<Put<Entity>> {
    this.requireKey(where);
    const { current, transactions } = this;
    const put = await transactions.written(
      () => this.rows.put(current, where, values),
      (found) => found === null,
    );
    if (!put) throw new ApiError(missing);
    return put as Put<Entity>;
  }

  /**
   * Changes one row, in a transaction: finds it, keeps it from any other change while `work` looks at it and sets its
   * properties, and saves those that differ. Of several changes at once, each sees what the one before has left.
   * @throws ApiError with the code `missing` where no row has these values, and whatever `work` throws
   */
  async changeRow(where: Where<Entity>, missing: ErrorCode, work: (row: Entity) => unknown): Promise<Entity> {
    requireValues(where);
    const { transactions, one } = this;
    if (one) return this.inOne.change(one, where, work as (row: ObjectLiteral) => unknown) as Promise<Entity>;
    const change = (transaction: EntityManager) =>
      this.rows.change(transaction, where, work as (row: ObjectLiteral) => unknown);
    const row = await this.whole((transaction) =>
      transactions.written(
        () => change(transaction),
        (found) => found === null,
      ),
    );
    if (!row) throw new ApiError(missing);
    transactions.rowWritten();
    return row as Entity;
  }

  /**
   * One page of the rows that match a filter, in the order of their ids or of another property, whose values are not null
   * and do not change. A page starts after a row, not at an offset: each costs the same at any depth, and rows that are
   * added or change meanwhile neither repeat an item nor hide one. That takes an index on the properties of the filter
   * that have one value or several, in their order, then what the list is in the order of, and the id: a number or a UUID.
   * @throws ApiError `invalid_cursor`; TypeError for a list whose pages cannot be served in this way
   */
  async page<Row extends Entity & { id: string }>(
    this: FastRepository<Row>,
    filter: Filter<Row>,
    { limit, cursor, ...asked }: Asked<Row>,
  ): Promise<Page<Row>> {
    const { rows } = this;
    const list = new Listing(this.metadata, filter, asked as Order);
    const after = cursor === undefined ? undefined : decodeCursor(cursor, list);
    const slice = await rows.page(this.current, list, { limit, after });
    return new Page(slice, list, (row) => rows.read(row) as Row);
  }

  /**
   * One page of the rows that a query of TypeORM's builder, or of SQL, finds by their `id`, each once, in the order of other
   * columns that it selects (`sort`) and of the id: a search by words, by likeness, or by what other tables have. A page
   * starts after the values of a row, not at an offset. So what does not change meanwhile is there once; a row whose values
   * change between two pages moves, and may be there twice or not at all. No value is NULL. How dear a page is, the
   * query says: it sorts what it finds, so an index should find little.
   * @throws ApiError `invalid_cursor`, for one of other words, another query or another order too
   */
  async pageOf<Row extends Entity & { id: string }>(
    this: FastRepository<Row>,
    query: SelectQueryBuilder<ObjectLiteral> | Sql,
    { limit, cursor, ...ordered }: Pick<Asked<Row>, 'limit' | 'cursor'> & Ordered,
  ): Promise<Page<Row>> {
    const { rows, current } = this;
    const search = new Search(this.metadata, query, ordered);
    const after = cursor === undefined ? undefined : decodeCursor(cursor, search);
    const found = await search.find(current, { limit, after });
    const shown = found.slice(0, limit);
    const byIds = new Listing(this.metadata, { id: shown.map(({ id }) => id) }, {});
    const read = shown.length > 0 ? await rows.page(current, byIds, { limit: shown.length }) : { rows: [] };
    const items = new Map(read.rows.map((row) => rows.read(row) as Row).map((item) => [item.id, item]));
    // One that was removed meanwhile is gone.
    const slice = {
      rows: shown.flatMap(({ id }) => items.get(id) ?? []),
      last: found.length > limit ? shown.at(-1)!.position : undefined,
    };
    return new Page(slice, search, (item) => item as Row);
  }

  private get transactions(): Transactions {
    return Transactions.of(this.manager.dataSource);
  }

  /** The statement that gathers what is written. */
  private get one(): OneStatement | undefined {
    return this.manager.queryRunner ? undefined : this.transactions.gathering;
  }

  private get inOne(): RowsInOne {
    const { inOne } = this.rows;
    if (!inOne) throw new Unfit(`${this.metadata.name} is served by TypeORM's own statements`);
    return inOne;
  }

  /** Runs work in a transaction: the repository's, the open one, or a new one. */
  private whole<T>(work: (transaction: EntityManager) => Promise<T>): Promise<T> {
    const { transactions, manager } = this;
    return manager.queryRunner ? transactions.in(manager, work) : transactions.runCounted(work);
  }

  /** @throws TypeError where a value to look for is missing, or one of the primary key is not given */
  private requireKey(where: ObjectLiteral): void {
    requireValues(where);
    const absent = this.metadata.primaryColumns.find(({ propertyName }) => !(propertyName in where));
    if (absent) throw new TypeError(`No key of the row: ${absent.propertyName}`);
  }

  private get current(): EntityManager {
    return this.manager.queryRunner ? this.manager : this.transactions.connection;
  }

  private get rows(): Rows {
    const { metadata } = this;
    const known = chosen.get(metadata);
    // A subscriber may come at any time.
    const { subscribers } = metadata.dataSource;
    if (known && isSame(known.subscribers, subscribers)) return known.rows;
    const plain = new TypeOrmRows(metadata);
    const rows = whyNotPrepared(metadata) ? plain : new PreparedRows(new Shape(metadata), plain);
    chosen.set(metadata, { rows, subscribers: [...subscribers] });
    return rows;
  }
}

function isSame(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((one, i) => one === others[i]);
}

/** The constraints that `violation` has been given, with their codes. */
const named = new Map<string, ErrorCode>();

/** @throws OperatorError that names what `violation` was given so far, and the database does not have */
export async function requireConstraints(database: DataSource): Promise<void> {
  if (named.size === 0) return;
  const there = await database.query<{ name: string }[]>(
    `SELECT conname AS name FROM pg_constraint WHERE conname = ANY ($1)
     UNION SELECT relname FROM pg_class WHERE relkind IN ('i', 'I') AND relname = ANY ($1)`,
    [[...named.keys()]],
  );
  const known = new Set(there.map(({ name }) => name));
  const missing = [...named].filter(([constraint]) => !known.has(constraint));
  if (missing.length === 0) return;
  const calls = missing.map(([constraint, code]) => `violation('${constraint}', '${code}')`);
  throw new OperatorError(
    `${calls.join(', ')}: no table has a constraint or a unique index of that name. Take the name from the migration.`,
  );
}

/**
 * Turns the violation of one constraint of the schema into an API error; every other error is thrown again. Declare it
 * beside the service, `const NAME_TAKEN = violation('categories_name_key', 'category_exists')`, and use it as
 * `.catch(NAME_TAKEN)`: a name that no constraint has then ends the start.
 * @param constraint the name that the migration gave the constraint or unique index
 * @param status if not the code's own, e.g. 400 for a reference in a body
 */
export function violation(constraint: string, code: ErrorCode, status?: number): (error: unknown) => never {
  named.set(constraint, code);
  return (error) => {
    if (error instanceof QueryFailedError && error.driverError.constraint === constraint) {
      throw new ApiError(code, undefined, { status, cause: error });
    }
    throw error;
  };
}

/** @throws TypeError where a value to look for is missing, or all are: that would find any row */
function requireValues(where: ObjectLiteral): void {
  const names = Object.keys(where);
  const missing = names.find((name) => where[name] === undefined || where[name] === null);
  if (missing !== undefined || names.length === 0)
    throw new TypeError(`No value to look for: ${missing ?? 'none'}`);
}
