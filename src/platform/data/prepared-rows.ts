import { isDeepStrictEqual } from 'node:util';
import type { EntityManager, ObjectLiteral } from 'typeorm';
import { isPageKey } from './page-sql.js';
import { PreparedInserts } from './prepared-inserts.js';
import { PreparedPages } from './prepared-pages.js';
import type { Place, Rows, Slice } from './rows.js';
import { namesOf, type Row, type Shape, type ShapeColumn } from './shape.js';
import { SharedReads } from './shared-reads.js';
import { selectOne, update } from './sql.js';
import { Statements } from './statements.js';
import type { TypeOrmRows } from './typeorm-rows.js';

/**
 * The rows of a table by prepared statements. Outside of transactions, requests of the same moment share them; every
 * caller gets an entity of its own.
 */
export class PreparedRows implements Rows {
  private readonly statements: Statements;
  private readonly reads: SharedReads;
  private readonly inserts: PreparedInserts;
  private readonly pages?: PreparedPages;

  /** @param plain does what goes by more than the columns of the table */
  constructor(
    private readonly shape: Shape,
    private readonly plain: TypeOrmRows,
  ) {
    this.statements = new Statements(shape);
    this.reads = new SharedReads(shape, this.statements);
    this.inserts = new PreparedInserts(shape, this.statements);
    const [key, ...more] = shape.keys;
    if (more.length === 0 && isPageKey(key!)) this.pages = new PreparedPages(shape, key!, this.statements);
  }

  async find(manager: EntityManager, where: ObjectLiteral): Promise<ObjectLiteral | null> {
    const row = (await this.reads.tryShare(manager, where)) ?? (await this.selectOne(manager, where, false));
    return row ? this.shape.hydrate(row) : null;
  }

  async add(manager: EntityManager, values: ObjectLiteral): Promise<ObjectLiteral> {
    const given = this.given(values);
    if (!given) return this.plain.add(manager, values);
    return this.shape.hydrate(await this.inserts.one(manager, given, written(given, values)));
  }

  async addAll(manager: EntityManager, values: readonly ObjectLiteral[]): Promise<ObjectLiteral[]> {
    const [first] = values;
    if (!first) return [];
    const given = this.given(first);
    const name = given && namesOf(given);
    const areAlike = values.every((one) => name && namesOf(this.given(one) ?? []) === name);
    if (!given || !areAlike || given.some(({ isArray }) => isArray))
      return this.plain.addAll(manager, values);
    const rows = await this.inserts.all(
      manager,
      given,
      values.map((one) => written(given, one)),
    );
    return rows.map((row) => this.shape.hydrate(row));
  }

  async update(
    manager: EntityManager,
    which: ObjectLiteral,
    values: ObjectLiteral,
  ): Promise<ObjectLiteral[]> {
    const { shape, statements } = this;
    const set = this.given(values);
    const by = this.sought(which);
    if (!set?.length) return this.plain.update(manager, which, values);
    const among = new Set(by.filter(({ property, isArray }) => !isArray && Array.isArray(which[property])));
    const name = `update ${namesOf(set)} by ${namesOf(by)} among ${namesOf([...among])}`;
    const statement = statements.once(name, () => update(shape, set, by, among));
    const sought = by.map((column) => (among.has(column) ? which[column.property] : write(column, which)));
    const rows = await statements.run(manager, statement, [...written(set, values), ...sought]);
    return rows.map((row) => shape.hydrate(row));
  }

  async change(
    manager: EntityManager,
    where: ObjectLiteral,
    work: (row: ObjectLiteral) => unknown,
  ): Promise<ObjectLiteral | null> {
    const found = await this.selectOne(manager, where, true);
    if (!found) return null;
    const [before, row] = [this.shape.hydrate(found), this.shape.hydrate(found)];
    await work(row);
    const changed = this.shape.columns.filter(
      ({ property }) => row[property] !== undefined && !isDeepStrictEqual(row[property], before[property]),
    );
    if (changed.length === 0) return row;
    const key = Object.fromEntries(this.shape.keys.map(({ property }) => [property, before[property]]));
    const values = Object.fromEntries(changed.map(({ property }) => [property, row[property]]));
    return Object.assign(row, (await this.update(manager, key, values))[0]);
  }

  page(manager: EntityManager, filter: ObjectLiteral, place: Place): Promise<Slice> {
    return this.pages ? this.pages.read(manager, filter, place) : this.plain.page(manager, filter, place);
  }

  read(row: unknown): ObjectLiteral {
    return this.pages ? this.shape.hydrate(row as Row) : this.plain.read(row);
  }

  private async selectOne(
    manager: EntityManager,
    where: ObjectLiteral,
    lock: boolean,
  ): Promise<Row | undefined> {
    const by = this.sought(where);
    const name = `${lock ? 'lock' : 'find'} by ${namesOf(by)}`;
    const statement = this.statements.once(name, () => selectOne(this.shape, by, lock));
    return (await this.statements.run(manager, statement, written(by, where)))[0];
  }

  /** The columns that have values; undefined if one is set through a relation, which TypeORM knows how to do. */
  private given(values: ObjectLiteral): ShapeColumn[] | undefined {
    const names = Object.keys(values).filter((name) => values[name] !== undefined);
    if (names.some((name) => this.shape.entity.findRelationWithPropertyPath(name))) return undefined;
    return names.filter((name) => this.shape.has(name)).map((name) => this.shape.column(name));
  }

  /** @throws TypeError where a value is missing, or all are: that would find any row */
  private sought(where: ObjectLiteral): ShapeColumn[] {
    const names = Object.keys(where);
    const missing = names.find((name) => where[name] === undefined || where[name] === null);
    if (missing !== undefined || names.length === 0)
      throw new TypeError(`No value to look for: ${missing ?? 'none'}`);
    return names.map((name) => this.shape.column(name));
  }
}

function write({ property, write: convert }: ShapeColumn, values: ObjectLiteral): unknown {
  return convert ? convert(values[property]) : values[property];
}

const written = (columns: readonly ShapeColumn[], values: ObjectLiteral): Row =>
  columns.map((column) => write(column, values));
