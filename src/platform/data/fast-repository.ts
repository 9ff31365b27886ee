import {
  type EntityManager,
  type EntityMetadata,
  type ObjectLiteral,
  Repository,
  type SelectQueryBuilder,
} from 'typeorm';
import { isDeepStrictEqual } from 'node:util';
import { ApiError, decodeCursor, type ErrorCode, Page, type Put } from '../api/index.js';
import { SharedLookUps, type Sql } from '../database/index.js';
import { isExactKey, Listing, type Order } from './listing.js';
import { Pages } from './pages.js';
import { type Ordered, Search } from './searches.js';
import {
  convert,
  namesOf,
  requireValues,
  type Row,
  Shape,
  type ShapeColumn,
  Statements,
  written,
} from './shape.js';
import { insertRows, selectAmong, selectOne, updateRows, upsertOne } from './sql.js';
import { Transactions } from './transactions.js';
import type { Asked, Filter, Values, Where, Which } from './values.js';

/** What is known of an entity's table, the same for all who have a repository of it. */
interface Table {
  readonly shape: Shape;
  readonly statements: Statements;
  readonly pages: Pages;
  /** Rows looked up by their id; undefined where another text could be of the same row. */
  readonly lookUps?: SharedLookUps<Row>;
}

const tables = new WeakMap<EntityMetadata, Table>();

/**
 * TypeORM's repository, and beside it methods for what requests do all the time, for an entity that is the columns of one
 * table; the start refuses any other. TypeORM's own methods do what TypeORM documents. Those here are prepared statements, in
 * the open transaction (`Transactions`) or alone; reads of the same moment share them outside of transactions, and every
 * caller gets entities of its own.
 */
export class FastRepository<Entity extends ObjectLiteral> extends Repository<Entity> {
  /** The row with these values, or null. Of several, any one. */
  async findRow(where: Where<Entity>): Promise<Entity | null> {
    requireValues(where);
    const { current } = this;
    const { lookUps } = this.table;
    const id = lookUps && !current.queryRunner ? idIn(this.shape, where) : undefined;
    const row = id === undefined ? await this.select(where, false) : await lookUps!.find(id);
    return row ? (this.shape.hydrate(row) as Entity) : null;
  }

  /** The row with these values. @throws ApiError with the code `missing` where there is none */
  async getRow(where: Where<Entity>, missing: ErrorCode): Promise<Entity> {
    const row = await this.findRow(where);
    if (!row) throw new ApiError(missing);
    return row;
  }

  /**
   * Inserts a row; returns it as it is stored.
   * @param also adds what belongs to it in the same transaction, such as its audit record
   * @throws QueryFailedError that `violation` can turn into an ApiError
   */
  async addRow(values: Values<Entity>, also?: (row: Entity) => unknown): Promise<Entity> {
    if (!also) return (await this.addRows([values]))[0]!;
    return this.whole(async () => {
      const row = await this.addRow(values);
      await also(row);
      return row;
    });
  }

  /** Inserts rows; returns them in the same order. Rows with values of the same columns are one statement. */
  async addRows(values: readonly Values<Entity>[]): Promise<Entity[]> {
    const { shape } = this;
    const all = values.map((one) => shape.withInitial(one));
    const [first] = all;
    if (!first) return [];
    const given = shape.given(all.reduce((both, one) => ({ ...both, ...one }), {}));
    const alike = all.every((one) => given.every(({ property }) => one[property] !== undefined));
    if (!alike && all.length > 1)
      return this.whole(async () => {
        const added: Entity[] = [];
        for (const one of values) added.push(await this.addRow(one));
        return added;
      });
    const sent = all.flatMap((one) => written(given, one));
    const stored = await this.send(
      `insert ${all.length} ${namesOf(given)}`,
      () => insertRows(shape, given, all.length),
      sent,
    );
    if (stored.length < all.length)
      throw new Error(`A trigger or a rule of ${shape.table} has left out a row`);
    return stored.map((row) => shape.hydrate(row) as Entity);
  }

  /** Sets properties of all rows with these values; returns the rows, in no order. */
  async updateRows(which: Which<Entity>, values: Values<Entity>): Promise<Entity[]> {
    requireValues(which);
    const { shape } = this;
    const set = shape.given(values);
    if (set.length === 0) throw new TypeError(`No value to set in ${shape.table}`);
    const by = shape.sought(which);
    const asked: ObjectLiteral = which;
    const among = new Set(by.filter((column) => !column.isArray && Array.isArray(asked[column.property])));
    const sought = by.map((column) => {
      const value: unknown = asked[column.property];
      return among.has(column)
        ? (value as unknown[]).map((one) => convert(column, one))
        : convert(column, value);
    });
    const rows = await this.send(
      `update ${namesOf(set)} by ${namesOf(by)} among ${namesOf([...among])}`,
      () => updateRows(shape, set, by, among),
      [...written(set, values), ...sought],
    );
    return rows.map((row) => shape.hydrate(row) as Entity);
  }

  /** Sets properties of the row with these values, the key among them; false if there is none. */
  async setRow(where: Where<Entity>, values: Values<Entity>): Promise<boolean> {
    this.shape.soughtByKey(where);
    return (await this.updateRows(where, values)).length > 0;
  }

  /**
   * Adds a row under a key that the caller gives, or sets the values of the one that is there, by one statement, and tells
   * which: of several at once, one adds it.
   * @param where the key, and what a row that is there must have too, such as its account: any other is left as it is
   * @throws ApiError with the code `missing` where the row that is there is another one
   */
  async putRow(where: Where<Entity>, values: Values<Entity>, missing: ErrorCode): Promise<Put<Entity>> {
    const { shape } = this;
    const held = shape.soughtByKey(where).filter((column) => !shape.keys.includes(column));
    const all = shape.withInitial({ ...values, ...where });
    const given = shape.given(all);
    const [row] = await this.send(
      `put ${namesOf(given)} held by ${namesOf(held)}`,
      () => upsertOne(shape, given, held),
      written(given, all),
    );
    if (!row) throw new ApiError(missing);
    return { row: shape.hydrate(row) as Entity, isCreated: row.at(-1) === true };
  }

  /**
   * Changes one row, in a transaction: finds it, keeps it from any other change while `work` looks at it and sets its
   * properties, and saves those that differ. Of several changes at once, each sees what the one before has left.
   * @throws ApiError with the code `missing` where no row has these values, and whatever `work` throws
   */
  async changeRow(where: Where<Entity>, missing: ErrorCode, work: (row: Entity) => unknown): Promise<Entity> {
    requireValues(where);
    return this.whole(async () => {
      const found = await this.select(where, true);
      if (!found) throw new ApiError(missing);
      const { row, changes, key } = await edit<Entity>(this.shape, found, work);
      if (Object.keys(changes).length === 0) return row;
      return Object.assign(row, (await this.updateRows(key, changes))[0]);
    });
  }

  /**
   * One page of the rows that match a filter, in the order of their ids or of another property, whose values are not null
   * and do not change. A page starts after a row, not at an offset: each costs the same at any depth, and rows that are
   * added or change meanwhile neither repeat an item nor hide one. That takes an index on the properties of the filter
   * that have one value or several, in their order, then what the list is in the order of, and the id: a number or a UUID.
   * @throws ApiError `invalid_cursor`; TypeError for a list whose pages cannot be served in this way
   */
  async page<Item extends Entity & { id: string }>(
    this: FastRepository<Item>,
    filter: Filter<Item>,
    { limit, cursor, ...asked }: Asked<Item>,
  ): Promise<Page<Item>> {
    const { shape } = this;
    const list = new Listing(this.metadata, filter, asked as Order);
    const after = cursor === undefined ? undefined : decodeCursor(cursor, list);
    const slice = await this.table.pages.read(this.current, list, { limit, after });
    return new Page(slice, list, (row) => shape.hydrate(row as unknown[]) as Item);
  }

  /**
   * One page of the rows that a query of TypeORM's builder, or of SQL, finds by their `id`, each once, in the order of other
   * columns that it selects (`sort`) and of the id: a search by words, by likeness, or by what other tables have. A page
   * starts after the values of a row, not at an offset. So what does not change meanwhile is there once; a row whose values
   * change between two pages moves, and may be there twice or not at all. No value is NULL. How dear a page is, the
   * query says: it sorts what it finds, so an index should find little.
   * @throws ApiError `invalid_cursor`, for one of other words, another query or another order too
   */
  async pageOf<Item extends Entity & { id: string }>(
    this: FastRepository<Item>,
    query: SelectQueryBuilder<ObjectLiteral> | Sql,
    { limit, cursor, ...ordered }: Pick<Asked<Item>, 'limit' | 'cursor'> & Ordered,
  ): Promise<Page<Item>> {
    const { shape, current } = this;
    const search = new Search(this.metadata, query, ordered);
    const after = cursor === undefined ? undefined : decodeCursor(cursor, search);
    const found = await search.find(current, { limit, after });
    const shown = found.slice(0, limit);
    const ids = shown.map(({ id }) => id);
    const byIds = new Listing(this.metadata, { id: ids }, {});
    const read =
      ids.length > 0 ? await this.table.pages.read(current, byIds, { limit: ids.length }) : { rows: [] };
    const key = shape.selected.indexOf(shape.keys[0]!);
    const byId = new Map(read.rows.map((row) => [String((row as unknown[])[key]), row]));
    // One that was removed meanwhile is gone.
    const slice = {
      rows: ids.map((id) => byId.get(id)).filter((row) => row !== undefined),
      last: found.length > limit ? shown.at(-1)!.position : undefined,
    };
    return new Page(slice, search, (row) => shape.hydrate(row as unknown[]) as Item);
  }

  /** The columns of its table. @throws OperatorError for an entity that is more than these */
  get shape(): Shape {
    return this.table.shape;
  }

  /** Runs a prepared statement, written on first use, on the connection of the current call. @throws QueryFailedError */
  send(name: string, write: () => string, values: unknown[]): Promise<Row[]> {
    const { statements } = this.table;
    return statements.run(this.current, statements.once(name, write), values);
  }

  private async select(where: ObjectLiteral, lock: boolean): Promise<Row | undefined> {
    const { shape } = this;
    const by = shape.sought(where);
    const name = `${lock ? 'lock' : 'find'} by ${namesOf(by)}`;
    return (await this.send(name, () => selectOne(shape, by, lock), written(by, where)))[0];
  }

  /** Runs work in a transaction: the repository's, the open one, or a new one. */
  private whole<T>(work: () => Promise<T>): Promise<T> {
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

/** @throws OperatorError for an entity that is more than the columns of one table */
function tableOf(entity: EntityMetadata): Table {
  const shape = new Shape(entity);
  const statements = new Statements(shape);
  return { shape, statements, pages: new Pages(shape, statements), lookUps: lookUpsOf(shape, statements) };
}

function lookUpsOf(shape: Shape, statements: Statements): SharedLookUps<Row> | undefined {
  const [key, ...more] = shape.keys;
  const isText = !key!.isArray && !key!.read && (key!.type === 'bigint' || key!.type === 'uuid');
  if (more.length > 0 || !isText) return undefined;
  const { manager } = shape.entity.dataSource;
  const place = shape.selected.indexOf(key!);
  const one = statements.once(`find by ${namesOf([key!])}`, () => selectOne(shape, [key!], false));
  const many = statements.once('find among', () => selectAmong(shape, key!));
  return new SharedLookUps(async (ids) => {
    // Of a lone id, PostgreSQL finds the row in a third of the time.
    const rows = await (ids.length === 1
      ? statements.run(manager, one, ids)
      : statements.run(manager, many, [ids]));
    return new Map(rows.map((row) => [String(row[place]), row]));
  });
}

/** The id that a row is looked up by, and by nothing else; undefined if it is another text than PostgreSQL's own. */
function idIn({ keys: [key] }: Shape, where: ObjectLiteral): string | undefined {
  const value: unknown = where[key!.property];
  return Object.keys(where).length === 1 && isExactKey(key!.type, value) ? value : undefined;
}

/** Has `work` set properties of a row that was read; returns the entity, the values that differ then, and the key that it had. */
async function edit<Entity extends ObjectLiteral>(
  shape: Shape,
  found: Row,
  work: (row: Entity) => unknown,
): Promise<{ row: Entity; changes: Values<Entity>; key: Which<Entity> }> {
  const [before, row] = [shape.hydrate(found), shape.hydrate(found)];
  const { columns } = shape;
  // Before `work`: an instance may be the same for both.
  const writtenBefore = columns.map((column) => convert(column, before[column.property]));
  await work(row as Entity);
  const changes: ObjectLiteral = {};
  for (const [i, column] of columns.entries()) {
    const { property } = column;
    // Undefined is no value to set: the row has what is stored.
    if (row[property] === undefined) {
      if (before[property] !== undefined) row[property] = before[property];
    } else if (isChanged(column, row[property], before[property], writtenBefore[i]))
      changes[property] = row[property];
  }
  const key = Object.fromEntries(shape.keys.map(({ property }) => [property, before[property] as unknown]));
  return { row: row as Entity, changes: changes as Values<Entity>, key: key as Which<Entity> };
}

/** Two objects are compared as they are written: an instance may hide what it holds, or be changed in its place. */
function isChanged(column: ShapeColumn, now: unknown, before: unknown, writtenBefore: unknown): boolean {
  if (typeof now !== 'object' || now === null) return !Object.is(now, before);
  return !isDeepStrictEqual(convert(column, now), writtenBefore);
}
