import {
  type EntityManager,
  type EntityMetadata,
  type ObjectLiteral,
  Repository,
  type SelectQueryBuilder,
} from 'typeorm';
import { isDeepStrictEqual } from 'node:util';
import { ApiError, decodeCursor, type ErrorCode, Page } from '../api/index.js';
import { Connections, type Row, SharedLookUps, type Sql } from '../database/index.js';
import { Listing, type Order } from './listing.js';
import { Pages } from './pages.js';
import { Search, type SearchOrder } from './searches.js';
import { convert, namesOf, requireValues, Shape, written } from './shape.js';
import { insertRows, matching, names, numbered, select, selectOne, update } from './sql.js';
import { Transactions } from './transactions.js';
import type { Filter, PageOptions, Values, Where, Which } from './values.js';

/** State that all repositories of an entity share. */
interface Table {
  readonly shape: Shape;
  readonly connections: Connections;
  readonly pages: Pages;
  /** Look-ups by id; undefined if two different texts can name the same id. */
  readonly lookUps?: SharedLookUps<Row>;
}

/** Maximum parameters of a statement in PostgreSQL. */
const MAX_PARAMETERS = 65_535;

const SWEPT_AT_ONCE = 1_000;

const tables = new WeakMap<EntityMetadata, Table>();

/**
 * TypeORM's repository plus fast methods for everyday requests. The entity must be plain columns of one
 * table: the service refuses to start otherwise. TypeORM's own methods do what TypeORM documents. The methods
 * here run prepared statements, in the open transaction (`Transactions`) if there is one. Outside of
 * transactions, simultaneous reads share a statement, and every caller gets its own entities.
 */
export class FastRepository<Entity extends ObjectLiteral> extends Repository<Entity> {
  /** The row with these values, or null. If several match, any of them. */
  async findRow(where: Where<Entity>): Promise<Entity | null> {
    requireValues(where);
    const { current } = this;
    const { lookUps } = this.table;
    const id = lookUps && !current.queryRunner ? idIn(this.shape, where) : undefined;
    const row = id === undefined ? await this.select(where, false) : await lookUps!.find(id);
    return row ? (this.shape.hydrate(row) as Entity) : null;
  }

  /** The row with these values. @throws ApiError with the code `missing` if there is none */
  async getRow(where: Where<Entity>, missing: ErrorCode): Promise<Entity> {
    const row = await this.findRow(where);
    if (!row) throw new ApiError(missing);
    return row;
  }

  /**
   * Inserts a row; returns it as it is stored.
   * @throws QueryFailedError that `violation` can turn into an ApiError
   */
  async addRow(values: Values<Entity>): Promise<Entity> {
    return (await this.addRows([values]))[0]!;
  }

  /** Inserts rows by one statement, or a few; returns them in the same order. Ignores undefined values. */
  async addRows(values: readonly Values<Entity>[]): Promise<Entity[]> {
    const batches = batchesOf(
      this.shape,
      values.map((row) => this.shape.withInitial(row)),
    );
    if (batches.length <= 1) return this.insertBatch(batches[0] ?? []);
    return this.inTransaction(async () => {
      const added: Entity[] = [];
      for (const batch of batches) added.push(...(await this.insertBatch(batch)));
      return added;
    });
  }

  /** Sets properties of all rows with these values; returns the rows, unordered. Ignores undefined values. */
  async updateRows(which: Which<Entity>, values: Values<Entity>): Promise<Entity[]> {
    requireValues(which);
    const { shape } = this;
    const set = shape.given(values);
    const by = shape.columnsIn(which);
    const filter: ObjectLiteral = which;
    const among = new Set(by.filter((column) => !column.isArray && Array.isArray(filter[column.property])));
    const conditions = by.map((column) => {
      const value: unknown = filter[column.property];
      return among.has(column)
        ? (value as unknown[]).map((item) => convert(column, item))
        : convert(column, value);
    });
    const write = () =>
      set.length > 0
        ? `${update(shape, set, by, numbered, among)} RETURNING ${names(shape.selected)}`
        : select(shape, matching(by, numbered, among));
    const rows = await this.send(
      `update ${namesOf(set)} by ${namesOf(by)} among ${namesOf([...among])}`,
      write,
      [...written(set, values), ...conditions],
    );
    return rows.map((row) => shape.hydrate(row) as Entity);
  }

  /**
   * Changes one row in a transaction: finds and locks the row, lets `work` set its properties, and saves the
   * changed ones. Of several concurrent changes, each sees the result of the previous change.
   * @throws ApiError with the code `missing` if no row has these values, and any error of `work`
   */
  async changeRow(where: Where<Entity>, missing: ErrorCode, work: (row: Entity) => unknown): Promise<Entity> {
    requireValues(where);
    return this.inTransaction(async () => {
      const found = await this.select(where, true);
      if (!found) throw new ApiError(missing);
      const { shape } = this;
      const [before, row] = [shape.hydrate(found), shape.hydrate(found)];
      // Copies the values as `pg` sends them: `work` may change an object in place, even its private state.
      const sent = written(shape.columns, before);
      await work(row as Entity);
      const changes: ObjectLiteral = {};
      for (const [i, column] of shape.columns.entries()) {
        const { property } = column;
        // `undefined` leaves the stored value unchanged.
        if (row[property] === undefined) {
          if (before[property] !== undefined) row[property] = before[property];
        } else if (!isDeepStrictEqual(convert(column, row[property]), sent[i]))
          changes[property] = row[property];
      }
      if (Object.keys(changes).length === 0) return row as Entity;
      const key = Object.fromEntries(
        shape.keys.map(({ property }) => [property, before[property] as unknown]),
      );
      const [changed] = await this.updateRows(key as Which<Entity>, changes as Values<Entity>);
      return Object.assign(row as Entity, changed);
    });
  }

  /**
   * One page of the rows that match a filter, ordered by id, or first by a property that is never null and
   * never changes. A page starts after a row, so every page costs the same, and rows added or changed
   * meanwhile neither repeat nor hide an item. The list needs an index: first the filter's properties with a
   * value or a list of values, in their order, then the sort property, then the id, a number or a UUID.
   * @throws ApiError `invalid_cursor`; TypeError for a list that cannot have such pages
   */
  async page<Item extends Entity & { id: string }>(
    this: FastRepository<Item>,
    filter: Filter<Item>,
    { limit, cursor, ...order }: PageOptions<Item>,
  ): Promise<Page<Item>> {
    const { shape } = this;
    const list = new Listing(shape, filter, order as Order);
    const after = cursor === undefined ? undefined : decodeCursor(cursor, list);
    const slice = await this.table.pages.read(this.current, list, { limit, after });
    return new Page(slice, list, (row) => shape.hydrate(row as unknown[]) as Item);
  }

  /**
   * One page of the rows whose ids a query (SQL, or TypeORM's builder) finds. The query selects each `id`
   * once, and the columns of `sort`, which must not be NULL; pages are ordered by these columns, then by id. A
   * row that changes between two pages may appear twice or never. Each page sorts all rows that the query
   * finds: an index should keep them few.
   * @throws ApiError `invalid_cursor`, also for a cursor of another query, other parameters or another order
   */
  async pageOf<Item extends Entity & { id: string }>(
    this: FastRepository<Item>,
    query: SelectQueryBuilder<ObjectLiteral> | Sql,
    { limit, cursor, ...order }: Pick<PageOptions<Item>, 'limit' | 'cursor'> & SearchOrder,
  ): Promise<Page<Item>> {
    const { shape, current } = this;
    const search = new Search(shape, query, order);
    const after = cursor === undefined ? undefined : decodeCursor(cursor, search);
    const slice = await search.read(this.table.connections, current, { limit, after });
    return new Page(slice, search, (row) => shape.hydrate(row as unknown[]) as Item);
  }

  /**
   * Deletes old rows, 1,000 per statement, until none is left or the signal aborts; skips locked rows.
   * @param old the condition for old rows
   * @param by the property with the rows' age; it needs an index. As rows of one age are neighbours in the
   * table, deleting 1,000 takes 20 ms
   */
  async sweep(old: Sql, by: keyof Entity & string, signal: AbortSignal): Promise<void> {
    const { table, keys } = this.shape;
    const key = names(keys);
    const text = `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${old.sql}
      ORDER BY ${this.shape.column(by).sql} LIMIT ${SWEPT_AT_ONCE} FOR UPDATE SKIP LOCKED)`;
    for (let count = SWEPT_AT_ONCE; count === SWEPT_AT_ONCE && !signal.aborted;)
      [, count] = await this.query<[unknown, number]>(text, [...(old.parameters ?? [])]);
  }

  /** The columns of the table. @throws OperatorError as `requireShape` does */
  get shape(): Shape {
    return this.table.shape;
  }

  /** Prepares and runs the SQL of `write`, in the open transaction if any. @throws QueryFailedError */
  send(name: string, write: () => string, values: unknown[]): Promise<Row[]> {
    const { shape, connections } = this.table;
    return connections.run(this.current, shape.prepared(name, write), values);
  }

  private async insertBatch(batch: readonly ObjectLiteral[]): Promise<Entity[]> {
    if (batch.length === 0) return [];
    const { shape, connections } = this.table;
    const given = batch.map((row) => shape.given(row));
    const write = () => insertRows(shape, given);
    // Not prepared for several rows: each connection would keep a statement for every number of rows.
    const statement =
      batch.length === 1
        ? shape.prepared(`insert ${namesOf(given[0]!)}`, write)
        : connections.statement(write());
    const sent = batch.flatMap((row, i) => written(given[i]!, row));
    const stored = await connections.run(this.current, statement, sent);
    if (stored.length < batch.length)
      throw new Error(`A trigger or a rule of ${shape.table} has skipped a row`);
    return stored.map((row) => shape.hydrate(row) as Entity);
  }

  private async select(where: ObjectLiteral, lock: boolean): Promise<Row | undefined> {
    const { shape } = this;
    const by = shape.columnsIn(where);
    const name = `${lock ? 'lock' : 'find'} by ${namesOf(by)}`;
    return (await this.send(name, () => selectOne(shape, by, lock), written(by, where)))[0];
  }

  /** Runs `work` in the repository's own transaction, else in the open transaction, else in a new one. */
  private inTransaction<T>(work: () => Promise<T>): Promise<T> {
    const { transactions, manager } = this;
    return manager.queryRunner ? transactions.within(manager, work) : transactions.run(work);
  }

  private get transactions(): Transactions {
    return Transactions.of(this.manager.dataSource);
  }

  private get current(): EntityManager {
    return this.manager.queryRunner ? this.manager : this.transactions.manager;
  }

  private get table(): Table {
    return tables.getOrInsertComputed(this.metadata, tableOf);
  }
}

/** @throws OperatorError as `requireShape` does */
function tableOf(entity: EntityMetadata): Table {
  const shape = new Shape(entity);
  const connections = Connections.of(entity.dataSource);
  return {
    shape,
    connections,
    pages: new Pages(shape, connections),
    lookUps: lookUpsOf(shape, connections),
  };
}

function lookUpsOf(shape: Shape, connections: Connections): SharedLookUps<Row> | undefined {
  const [key, ...more] = shape.keys;
  const isText = !key!.isArray && !key!.read && key!.type in EXACT_KEYS;
  if (more.length > 0 || !isText) return undefined;
  const { manager } = shape.entity.dataSource;
  const place = shape.selected.indexOf(key!);
  const findOne = shape.prepared(`find by ${namesOf([key!])}`, () => selectOne(shape, [key!], false));
  const among = () => select(shape, matching([key!], numbered, new Set([key!])));
  const findMany = shape.prepared('find among', among);
  return new SharedLookUps(async (ids) => {
    // For a lone id, `=` takes a third of the time of `ANY`.
    const rows = await (ids.length === 1
      ? connections.run(manager, findOne, ids)
      : connections.run(manager, findMany, [ids]));
    return new Map(rows.map((row) => [String(row[place]), row]));
  });
}

/** Splits rows into batches, each with at most `MAX_PARAMETERS` values. */
function batchesOf(shape: Shape, rows: readonly ObjectLiteral[]): ObjectLiteral[][] {
  const most = Math.floor(MAX_PARAMETERS / shape.columns.length);
  return Array.from({ length: Math.ceil(rows.length / most) }, (_batch, i) =>
    rows.slice(i * most, (i + 1) * most),
  );
}

/** Keys as PostgreSQL writes them, so no other text names the same row. A longer number may exceed bigint. */
const EXACT_KEYS: Record<string, RegExp> = {
  bigint: /^(?:0|-?[1-9]\d{0,17})$/,
  uuid: /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/,
};

/** The id, if `where` consists of the id alone, written as PostgreSQL does; otherwise undefined. */
function idIn({ keys: [key] }: Shape, where: ObjectLiteral): string | undefined {
  const value: unknown = where[key!.property];
  const isAlone = Object.keys(where).length === 1 && typeof value === 'string';
  return isAlone && EXACT_KEYS[key!.type]!.test(value) ? value : undefined;
}
