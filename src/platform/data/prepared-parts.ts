import { isDeepStrictEqual } from 'node:util';
import type { ObjectLiteral } from 'typeorm';
import { Batcher, bytesOf, made } from '../database/index.js';
import { Assigned, type OneStatement, type Part, type RowPart, Unfit } from './one-statement.js';
import type { RowsInOne } from './rows.js';
import {
  convert,
  namesOf,
  type Row,
  type Shape,
  type ShapeColumn,
  type Statements,
  valuesOf,
  written,
} from './shape.js';
import { type Frame, insertFrom, selectVersion, selectVersions, updateFrom } from './sql.js';

/** The writes of a table as parts of one statement. */
export class PreparedParts implements RowsInOne {
  private readonly versions = new Map<string, Batcher<Row, Row | undefined>>();

  constructor(
    private readonly shape: Shape,
    private readonly statements: Statements,
  ) {}

  async add(
    statement: OneStatement,
    values: ObjectLiteral,
    also?: (draft: ObjectLiteral) => unknown,
  ): Promise<ObjectLiteral> {
    const { shape } = this;
    const all = shape.withInitial(values);
    const given = this.given(all);
    const others = shape.selected.filter((column) => !given.includes(column));
    const [empty, assigned] = [
      others.filter(({ isLeftEmpty }) => isLeftEmpty),
      others.filter(({ isLeftEmpty }) => !isLeftEmpty),
    ];
    const nothing = Object.fromEntries(empty.map(({ property }) => [property, null]));
    const part = this.rowPart({ ...all, ...nothing }, assigned, true, {
      name: `add ${shape.table} ${namesOf(given)}`,
      parameters: written(given, all),
      types: typesOf(given),
      text: (frame) => insertFrom(shape, given, valuesIn(frame, given), frame, true),
    });
    return shape.hydrate(await statement.write(part, also));
  }

  async change(
    statement: OneStatement,
    where: ObjectLiteral,
    work: (row: ObjectLiteral) => unknown,
  ): Promise<ObjectLiteral> {
    const { shape } = this;
    const by = Object.keys(where).map((name) => shape.column(name));
    const found = await this.versionsBy(by).add(written(by, where));
    if (!found) throw new Unfit('There is no such row');
    const { row, changed, key } = await edit(shape, found, work);
    if (changed.length === 0) throw new Unfit('Nothing is changed');
    const { updated, keys } = shape;
    const types = typesOf([...changed, ...keys]);
    const part = this.rowPart(row, updated && !changed.includes(updated) ? [updated] : [], false, {
      name: `change ${shape.table} ${namesOf(changed)}`,
      parameters: [...written(changed, row), ...written(keys, key), found.at(-1)],
      types: types && [...types, 'xid'],
      text: (frame) => updateFrom(shape, changed, keys, frame, true),
    });
    return Object.assign(row, shape.hydrate(await statement.write(part)));
  }

  unread(values: ObjectLiteral): Part {
    const { shape } = this;
    const all = shape.withInitial(values);
    const given = this.given(all);
    const own = given.filter(({ property }) => !(all[property] instanceof Assigned));
    const handed = new Map(
      given.flatMap(({ property, sql }) => {
        const value: unknown = all[property];
        return value instanceof Assigned ? [[sql, value.sql] as const] : [];
      }),
    );
    return {
      name: `unread ${shape.table} ${namesOf(own)} ${[...handed].join()}`,
      parameters: written(own, all),
      types: typesOf(own),
      rows: 1,
      text: (frame) => {
        const others = valuesIn(frame, own).values();
        const sql = given.map((column) =>
          handed.has(column.sql) ? `made.${handed.get(column.sql)}` : others.next().value!,
        );
        return insertFrom(shape, given, sql, frame, false);
      },
    };
  }

  set(where: ObjectLiteral, values: ObjectLiteral): Part {
    const { shape } = this;
    const by = Object.keys(where).map((name) => shape.column(name));
    const set = this.given(values);
    return {
      name: `set ${shape.table} ${namesOf(set)} by ${namesOf(by)}`,
      parameters: [...written(set, values), ...written(by, where)],
      types: typesOf([...set, ...by]),
      rows: 1,
      text: (frame) => updateFrom(shape, set, by, frame, false),
    };
  }

  /** Looks rows up by some columns, each with its version; those of one moment by one statement. */
  private versionsBy(by: readonly ShapeColumn[]): Batcher<Row, Row | undefined> {
    const { shape, statements } = this;
    const name = namesOf(by);
    let reads = this.versions.get(name);
    if (reads) return reads;
    const { manager } = shape.entity.dataSource;
    const one = statements.once(`find version by ${name}`, () => selectVersion(shape, by));
    const many = statements.once(`find versions by ${name}`, () => selectVersions(shape, by));
    const make = async (calls: Row[]) => {
      if (calls.length === 1 || by.some(({ isArray }) => isArray))
        return Promise.allSettled(calls.map(async (call) => (await statements.run(manager, one, call))[0]));
      const found = calls.map((): Row | undefined => undefined);
      for (const [n, ...row] of await statements.run(manager, many, valuesOf(by, calls)))
        found[Number(n) - 1] = row;
      return made(found);
    };
    this.versions.set(
      name,
      (reads = new Batcher({ make, isRead: true, bytesOf }, statements.connections.reads)),
    );
    return reads;
  }

  private rowPart(
    values: ObjectLiteral,
    assigned: readonly ShapeColumn[],
    isNew: boolean,
    part: Omit<Part, 'rows'>,
  ): RowPart {
    const { shape, statements } = this;
    return { shape, statements, values, assigned, isNew, rows: 1, ...part };
  }

  private given(values: ObjectLiteral): readonly ShapeColumn[] {
    const given = this.shape.given(values);
    if (!given?.length) throw new Unfit('It has no values of columns alone');
    return given;
  }
}

/** The values of some columns. */
function valuesIn({ value }: Frame, columns: readonly ShapeColumn[]): string[] {
  return columns.map((_column, i) => value(i));
}

/** The types of some columns; undefined if SQL has no type for a list of their values. */
function typesOf(columns: readonly ShapeColumn[]): string[] | undefined {
  return columns.some(({ isArray }) => isArray) ? undefined : columns.map(({ type }) => type);
}

/** Has `work` set properties of a row that was read; returns the entity, the columns that differ then, and the key that it had. */
export async function edit(shape: Shape, found: Row, work: (row: ObjectLiteral) => unknown) {
  const [before, row] = [shape.hydrate(found), shape.hydrate(found)];
  const { columns } = shape;
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
  const key = Object.fromEntries(shape.keys.map(({ property }) => [property, before[property] as unknown]));
  return { row, changed, key };
}

/** Two objects are compared as they are written: an instance may hide what it holds, or be changed in its place. */
function isChanged(column: ShapeColumn, now: unknown, before: unknown, writtenBefore: unknown): boolean {
  if (typeof now !== 'object' || now === null) return !Object.is(now, before);
  return !isDeepStrictEqual(convert(column, now), writtenBefore);
}
