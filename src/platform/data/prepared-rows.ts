import { isDeepStrictEqual } from 'node:util';
import type { EntityManager, ObjectLiteral } from 'typeorm';
import type { Slice } from '../api/index.js';
import type { Statement } from '../database/index.js';
import { compareKeys, isExactKey } from './keys.js';
import type { Listing } from './listing.js';
import { PreparedInserts } from './prepared-inserts.js';
import { PreparedPages } from './prepared-pages.js';
import type { Place, Rows } from './rows.js';
import { namesOf, type Row, type Shape, type ShapeColumn, valuesOf } from './shape.js';
import { SharedReads } from './shared-reads.js';
import { insertUnread, lockMany, selectOne, update, updateMany } from './sql.js';
import { Statements } from './statements.js';
import { made, type Together } from './together.js';
import { Transactions } from './transactions.js';
import type { TypeOrmRows } from './typeorm-rows.js';

/**
 * The rows of a table by prepared statements. Outside of transactions, requests of the same moment share them; every
 * caller gets an entity of its own.
 */
export class PreparedRows implements Rows {
  private readonly statements: Statements;
  private readonly reads: SharedReads;
  private readonly inserts: PreparedInserts;
  private readonly pages: PreparedPages;

  /** @param plain does what goes by more than the columns of the table */
  constructor(
    private readonly shape: Shape,
    private readonly plain: TypeOrmRows,
  ) {
    this.statements = new Statements(shape);
    this.reads = new SharedReads(shape, this.statements);
    this.inserts = new PreparedInserts(shape, this.statements);
    this.pages = new PreparedPages(shape, this.statements);
  }

  async find(manager: EntityManager, where: ObjectLiteral): Promise<ObjectLiteral | null> {
    const shared = this.reads.tryShare(manager, where);
    const row = shared ? await shared : await this.selectOne(manager, where, false);
    return row ? this.shape.hydrate(row) : null;
  }

  async add(manager: EntityManager, values: ObjectLiteral): Promise<ObjectLiteral> {
    const all = this.shape.withInitial(values);
    const given = this.given(all);
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
    const set = this.given(values);
    const by = this.sought(which);
    if (!set?.length) return this.plain.update(manager, which, values);
    const alone = this.gathered(
      manager,
      [...set, ...by],
      which,
      `update many ${namesOf(set)} by ${namesOf(by)}`,
      () => updateMany(shape, set, by),
    );
    if (alone)
      return (await alone.add([...written(set, values), ...written(by, which)])).map((row) =>
        shape.hydrate(row),
      );
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

  async change(
    manager: EntityManager,
    where: ObjectLiteral,
    work: (row: ObjectLiteral) => unknown,
  ): Promise<ObjectLiteral | null> {
    const found = await this.selectOne(manager, where, true);
    if (!found) return null;
    const [before, row] = [this.shape.hydrate(found), this.shape.hydrate(found)];
    const { columns } = this.shape;
    // Before `work`: an instance may be the same for both.
    const writtenBefore = columns.map((column) => convert(column, before[column.property]));
    await work(row);
    const changed: ShapeColumn[] = [];
    for (const [i, column] of columns.entries()) {
      const { property } = column;
      // Undefined is no value to set: the row has what is stored.
      if (row[property] === undefined) {
        if (before[property] !== undefined) row[property] = before[property];
      } else if (isChanged(column, row[property], before[property], writtenBefore[i])) changed.push(column);
    }
    if (changed.length === 0) return row;
    const key = Object.fromEntries(this.shape.keys.map(({ property }) => [property, before[property]]));
    const values = Object.fromEntries(changed.map(({ property }) => [property, row[property]]));
    return Object.assign(row, (await this.update(manager, key, values))[0]);
  }

  page(manager: EntityManager, list: Listing, place: Place): Promise<Slice> {
    return this.pages.read(manager, list, place);
  }

  read(row: unknown): ObjectLiteral {
    return this.shape.hydrate(row as Row);
  }

  private async selectOne(
    manager: EntityManager,
    where: ObjectLiteral,
    lock: boolean,
  ): Promise<Row | undefined> {
    const by = this.sought(where);
    const calls = lock
      ? this.gathered(manager, by, where, `lock many by ${namesOf(by)}`, () => lockMany(this.shape, by))
      : undefined;
    if (calls) return (await calls.add(written(by, where)))[0];
    const name = `${lock ? 'lock' : 'find'} by ${namesOf(by)}`;
    const statement = this.statements.once(name, () => selectOne(this.shape, by, lock));
    return (await this.statements.run(manager, statement, written(by, where)))[0];
  }

  /**
   * Statements of a transaction that several share, each of one row by its key; undefined where they are none.
   * @param columns those of the values, in their order
   */
  private gathered(
    manager: EntityManager,
    columns: readonly ShapeColumn[],
    where: ObjectLiteral,
    name: string,
    write: () => string,
  ): Together<Row, Row[]> | undefined {
    const { statements } = this;
    const [key, ...more] = this.shape.keys;
    if (!manager.queryRunner || more.length > 0 || columns.some(({ isArray }) => isArray)) return undefined;
    if (key!.read || !isExactKey(key!.type, where[key!.property])) return undefined;
    // A list of values is for several rows.
    if (Object.values(where).some(Array.isArray)) return undefined;
    const statement = statements.once(name, write);
    const place = columns.lastIndexOf(key!);
    return Transactions.of(manager.dataSource).gathered<Row, Row[]>(manager, statement, async (calls) => {
      const answers = calls.map((): Row[] => []);
      // In the order of their keys, so that no two transactions wait for each other.
      let left = [...calls.keys()].toSorted((a, b) => compareKeys(calls[a]![place], calls[b]![place]));
      while (left.length > 0) {
        // Of several for one row, each sees what the one before has left.
        const now = left.filter((i, at) => calls[left[at - 1]!]?.[place] !== calls[i]![place]);
        left = left.filter((i) => !now.includes(i));
        const lists = valuesOf(
          columns,
          now.map((i) => calls[i]!),
        );
        for (const [n, ...row] of await statements.run(manager, statement, lists))
          answers[now[Number(n) - 1]!] = [row];
      }
      return made(answers);
    });
  }

  /** What one statement inserts: rows with values for the same columns; undefined if they are none. */
  private alike(values: readonly ObjectLiteral[]): { given: ShapeColumn[]; rows: Row[] } | undefined {
    const all = values.map((one) => this.shape.withInitial(one));
    const [given, ...others] = all.map((one) => this.given(one));
    const areAlike = others.every((other) => namesOf(other ?? []) === namesOf(given ?? []));
    // SQL has no type for a list of lists.
    if (!given?.length || !areAlike || given.some(({ isArray }) => isArray)) return undefined;
    return { given, rows: all.map((one) => written(given, one)) };
  }

  /** The columns that have values; undefined if one is set through a relation, which TypeORM knows how to do. */
  private given(values: ObjectLiteral): ShapeColumn[] | undefined {
    const { columns, entity } = this.shape;
    if (entity.relations.some(({ propertyPath }) => values[propertyPath] !== undefined)) return undefined;
    return columns.filter(({ property }) => values[property] !== undefined);
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

/** Two objects are compared as they are written: an instance may hide what it holds, or be changed in its place. */
function isChanged(column: ShapeColumn, now: unknown, before: unknown, writtenBefore: unknown): boolean {
  if (typeof now !== 'object' || now === null) return !Object.is(now, before);
  return !isDeepStrictEqual(convert(column, now), writtenBefore);
}

function convert({ write }: ShapeColumn, value: unknown): unknown {
  return write ? write(value) : value;
}

const written = (columns: readonly ShapeColumn[], values: ObjectLiteral): Row =>
  columns.map((column) => convert(column, values[column.property]));
