import type { EntityManager, ObjectLiteral } from 'typeorm';
import type { Put, Slice } from '../api/index.js';
import { Batcher, bytesOf, made, type Statement } from '../database/index.js';
import { PreparedInserts } from './inserts.js';
import { isExactKey, type Listing } from './listing.js';
import { PreparedPages } from './pages.js';
import { edit, PreparedParts } from './prepared-parts.js';
import type { Place, Rows } from './rows.js';
import {
  convert,
  namesOf,
  type Row,
  type Shape,
  type ShapeColumn,
  Statements,
  valuesOf,
  written,
} from './shape.js';
import { insertUnread, selectAmong, selectOne, update, upsertOne } from './sql.js';
import type { TypeOrmRows } from './typeorm-rows.js';

/**
 * The rows of a table by prepared statements. Outside of transactions, requests of the same moment share them; every
 * caller gets an entity of its own.
 */
export class PreparedRows implements Rows {
  readonly inOne: PreparedParts;
  private readonly statements: Statements;
  /** Rows looked up by their key outside of transactions; undefined where another text could be of the same row. */
  private readonly reads?: Batcher<string, Row | null>;
  private readonly inserts: PreparedInserts;
  private readonly pages: PreparedPages;

  /** @param plain does what goes by more than the columns of the table */
  constructor(
    private readonly shape: Shape,
    private readonly plain: TypeOrmRows,
  ) {
    this.statements = new Statements(shape);
    if (isMatched(shape)) this.reads = this.newReads();
    this.inserts = new PreparedInserts(shape, this.statements);
    this.pages = new PreparedPages(shape, this.statements);
    this.inOne = new PreparedParts(shape, this.statements);
  }

  async find(manager: EntityManager, where: ObjectLiteral): Promise<ObjectLiteral | null> {
    const key = manager.queryRunner ? undefined : this.keyIn(where);
    const row = await (key !== undefined && this.reads
      ? this.reads.add(key)
      : this.selectOne(manager, where, false));
    return row ? this.shape.hydrate(row) : null;
  }

  async add(manager: EntityManager, values: ObjectLiteral): Promise<ObjectLiteral> {
    const all = this.shape.withInitial(values);
    const given = this.shape.given(all);
    if (!given) return this.plain.add(manager, values);
    return this.shape.hydrate(await this.inserts.one(manager, given, written(given, all)));
  }

  async addAll(manager: EntityManager, values: readonly ObjectLiteral[]): Promise<ObjectLiteral[]> {
    const alike = this.alike(values);
    if (!alike) return this.plain.addAll(manager, values);
    const { given, rows } = alike;
    return (await this.inserts.all(manager, given, rows)).map((row) => this.shape.hydrate(row));
  }

  unread(values: readonly ObjectLiteral[]): Statement | undefined {
    const alike = this.alike(values);
    return alike && this.insertUnread(alike.given);
  }

  async addUnread(manager: EntityManager, values: readonly ObjectLiteral[]): Promise<unknown> {
    const { given, rows } = this.alike(values)!;
    return this.statements.run(manager, this.insertUnread(given), valuesOf(given, rows));
  }

  private insertUnread(given: readonly ShapeColumn[]): Statement {
    const name = `insert unread ${namesOf(given)}`;
    return this.statements.once(name, () => insertUnread(this.shape, given));
  }

  async update(
    manager: EntityManager,
    which: ObjectLiteral,
    values: ObjectLiteral,
  ): Promise<ObjectLiteral[]> {
    const { shape, statements } = this;
    const set = shape.given(values);
    const by = this.sought(which);
    if (!set?.length) return this.plain.update(manager, which, values);
    const among = new Set(by.filter((column) => !column.isArray && Array.isArray(valueOf(column, which))));
    const name = `update ${namesOf(set)} by ${namesOf(by)} among ${namesOf([...among])}`;
    const statement = statements.once(name, () => update(shape, set, by, among));
    const sought = by.map((column) => {
      const value = valueOf(column, which);
      return among.has(column)
        ? (value as unknown[]).map((one) => convert(column, one))
        : convert(column, value);
    });
    const rows = await statements.run(manager, statement, [...written(set, values), ...sought]);
    return rows.map((row) => shape.hydrate(row));
  }

  async put(
    manager: EntityManager,
    where: ObjectLiteral,
    values: ObjectLiteral,
  ): Promise<Put<ObjectLiteral> | null> {
    const { shape, statements } = this;
    const all = shape.withInitial({ ...values, ...where });
    const given = this.shape.given(all);
    if (!given) return this.plain.put(manager, where, values);
    const held = this.sought(where).filter((column) => !shape.keys.includes(column));
    const name = `put ${namesOf(given)} held by ${namesOf(held)}`;
    const statement = statements.once(name, () => upsertOne(shape, given, held));
    const [row] = await statements.run(manager, statement, written(given, all));
    return row ? { row: shape.hydrate(row), isCreated: row.at(-1) === true } : null;
  }

  async change(
    manager: EntityManager,
    where: ObjectLiteral,
    work: (row: ObjectLiteral) => unknown,
  ): Promise<ObjectLiteral | null> {
    const found = await this.selectOne(manager, where, true);
    if (!found) return null;
    const { row, changed, key } = await edit(this.shape, found, work);
    if (changed.length === 0) return row;
    const values = Object.fromEntries(changed.map(({ property }) => [property, row[property]]));
    return Object.assign(row, (await this.update(manager, key, values))[0]);
  }

  page(manager: EntityManager, list: Listing, place: Place): Promise<Slice> {
    return this.pages.read(manager, list, place);
  }

  read(row: unknown): ObjectLiteral {
    return this.shape.hydrate(row as Row);
  }

  /** The rows of many keys are found by one statement; of a lone key, PostgreSQL finds the row in a third of the time. */
  private newReads(): Batcher<string, Row | null> {
    const { shape, statements } = this;
    const { manager } = shape.entity.dataSource;
    const key = shape.keys[0]!;
    const place = shape.selected.indexOf(key);
    const making = {
      make: async (keys: string[]) => {
        const rows =
          keys.length === 1
            ? [await this.selectOne(manager, { [key.property]: keys[0]! }, false)]
            : await statements.run(
                manager,
                statements.once('find among', () => selectAmong(shape, key)),
                [keys],
              );
        const found = new Map(rows.map((row) => [String(row?.[place]), row]));
        return made(keys.map((text) => found.get(text) ?? null));
      },
      isRead: true,
      bytesOf,
    };
    return new Batcher<string, Row | null>(making, statements.connections.reads);
  }

  /** The key that a row is looked up by, and by nothing else; undefined if it is another text than PostgreSQL's own. */
  private keyIn(where: ObjectLiteral): string | undefined {
    const [key] = this.shape.keys;
    const value: unknown = where[key!.property];
    return Object.keys(where).length === 1 && isExactKey(key!.type, value) ? value : undefined;
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

  /** What one statement inserts: rows with values for the same columns; undefined if they are none. */
  private alike(values: readonly ObjectLiteral[]): { given: ShapeColumn[]; rows: Row[] } | undefined {
    const all = values.map((one) => this.shape.withInitial(one));
    const [given, ...others] = all.map((one) => this.shape.given(one));
    const areAlike = others.every((other) => namesOf(other ?? []) === namesOf(given ?? []));
    // SQL has no type for a list of lists.
    if (!given?.length || !areAlike || given.some(({ isArray }) => isArray)) return undefined;
    return { given, rows: all.map((one) => written(given, one)) };
  }

  private sought(where: ObjectLiteral): ShapeColumn[] {
    return Object.keys(where).map((name) => this.shape.column(name));
  }
}

/** What a column is to be. A list of one is a value, by which PostgreSQL finds the row sooner, and its partition. */
function valueOf({ property, isArray }: ShapeColumn, which: ObjectLiteral): unknown {
  const value: unknown = which[property];
  return !isArray && Array.isArray(value) && value.length === 1 ? value[0] : value;
}

/** Whether a row's key has the very text that the row was looked up by. */
function isMatched({ keys: [key, ...more], selected }: Shape): boolean {
  if (more.length > 0 || !selected.includes(key!)) return false;
  return !key!.isArray && !key!.read && (key!.type === 'bigint' || key!.type === 'uuid');
}
