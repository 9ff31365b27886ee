import { LRUCache } from 'lru-cache';
import { hash } from 'node:crypto';
import type { EntityMetadata, ObjectLiteral } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { type Cursors, type Direction, isPlainText, type Position } from '../api/index.js';

/** The marks of recent lists: a look-up takes a tenth of the time of a hash. */
const marks = new LRUCache<string, string>({ max: 1_000 });

/** A short text that stands for a list in its cursors. */
export const markOf = (text: string): string => hash('sha256', text, 'base64url').slice(0, 12);

export interface Order {
  readonly sort?: string;
  readonly order?: Direction;
}

/** A list of an entity's rows, with its filter and order. */
export class Listing implements Cursors {
  /** Columns with one value in all rows, null for none. */
  readonly equal: (readonly [property: string, value: unknown])[] = [];
  readonly among?: readonly [property: string, values: readonly unknown[]];
  readonly range?: Range;
  /** The sort column; undefined for the id. */
  readonly sort?: string;
  readonly isDescending: boolean;

  /** @throws TypeError for a list whose pages would not cost the same at any depth, whatever the indexes */
  constructor(
    private readonly entity: EntityMetadata,
    filter: ObjectLiteral,
    { sort = 'id', order }: Order,
  ) {
    this.refuse(whyNoPages(entity));
    this.isDescending = order === 'desc';
    if (sort !== 'id') this.refuse(whyNotSorted(this.column((this.sort = sort))), sort);
    for (const name of Object.keys(filter)) {
      const value: unknown = filter[name];
      if (value instanceof Range) this.range = this.rangeOf(name, value);
      else if (Array.isArray(value) && !this.column(name).isArray) this.among = this.listOf(name, value);
      else if (value !== undefined) this.equal.push([name, value]);
    }
  }

  get mark(): string {
    const { text } = this;
    const mark = marks.get(text) ?? markOf(text);
    marks.set(text, mark);
    return mark;
  }

  isPosition({ id, value }: Position): boolean {
    const { sort } = this;
    if (!isKeyText(this.typeOf('id'), id) || (value === undefined) !== (sort === undefined)) return false;
    return value === undefined || sortValue(this.typeOf(sort!), value) !== undefined;
  }

  /** The values of a position, as parameters of a statement. */
  valuesOf({ id, value }: Position): unknown[] {
    return value === undefined ? [id] : [sortValue(this.typeOf(this.sort!), value), id];
  }

  /** A text that lists share whose pages differ by values alone. */
  get form(): string {
    const { equal, among, range, sort = '', isDescending } = this;
    const names = equal.map(([name, value]) => (value === null ? `${name} null` : name));
    const ends = range && [range.from !== undefined, range.to !== undefined];
    return `${names.join()} ${among?.[0] ?? ''} ${ends?.join() ?? ''} ${sort} ${isDescending}`;
  }

  /** A text that no other list has. */
  private get text(): string {
    const { entity, equal, among, range, sort = 'id', isDescending } = this;
    const parts = equal.map(([name, value]) => `${name}=${textOf(value)}`);
    if (among) parts.push(`${among[0]} in ${JSON.stringify(among[1].map(textOf).toSorted())}`);
    if (range) parts.push(`${sort} in ${textOf([range.from, range.to].map((bound) => bound ?? null))}`);
    if (parts.length > 1) parts.sort();
    return `${entity.tableName} by ${sort}${isDescending ? ' down' : ''}\0${parts.join('\0')}`;
  }

  private rangeOf(name: string, range: Range): Range {
    const { sort = 'id' } = this;
    if (name !== sort) this.refuse(`has a range of ${name}, so it must be sorted by that`);
    if (range.isPrefix && this.column(sort).collation !== 'C')
      this.refuse("has no prefixes: give the column the collation 'C', in its migration too", sort);
    return range;
  }

  private listOf(name: string, values: unknown[]): [string, unknown[]] {
    if (this.among) this.refuse(`can be filtered by one list of values, and not by ${name} too`);
    return [name, [...new Map(values.map((value) => [textOf(value), value])).values()]];
  }

  private typeOf(property: string): string {
    return this.entity.dataSource.driver.normalizeType(this.column(property));
  }

  private column(property: string): ColumnMetadata {
    const column = this.entity.columns.find(({ propertyName }) => propertyName === property);
    if (!column) throw new TypeError(`${this.entity.name} has no column ${property}`);
    return column;
  }

  private refuse(reason: string | undefined, property?: string): void {
    if (reason === undefined) return;
    const what = property === undefined ? `A list of ${this.entity.name}` : `${this.entity.name}.${property}`;
    throw new TypeError(`${what} ${reason}`);
  }
}

const LAST_CODE_POINT = 0x10ffff;
const SURROGATES = { first: 0xd800, next: 0xe000 };

/** Values from `from` up to but not including `to`; an end that is undefined is open. */
export class Range<Value = unknown> {
  constructor(
    readonly from: Value | undefined,
    readonly to: Value | undefined,
    /** Whether the range is that of a prefix, which holds in the order of code points alone. */
    readonly isPrefix = false,
  ) {}
}

/** A filter for values from `from` up to but not including `to`; no filter if both are undefined. */
export function between<Value>(from?: Value, to?: Value): Range<Value> | undefined {
  return from === undefined && to === undefined ? undefined : new Range(from, to);
}

/** A filter for texts that begin with a prefix, in the same case; no filter if it is undefined or empty. */
export function startingWith(prefix?: string): Range<string> | undefined {
  return prefix ? new Range(prefix, successorOf(prefix), true) : undefined;
}

/** The first text, in the order of code points, after all with a prefix; undefined if there is none. */
function successorOf(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0)!);
  while (points.at(-1) === LAST_CODE_POINT) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  const next = last + 1 === SURROGATES.first ? SURROGATES.next : last + 1;
  return String.fromCodePoint(...points, next);
}

/** The least and the greatest id of each type that pages support. */
const KEY_BOUNDS: Record<string, readonly [least: string, most: string]> = {
  bigint: ['-9223372036854775808', '9223372036854775807'],
  integer: ['-2147483648', '2147483647'],
  smallint: ['-32768', '32767'],
  uuid: ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
};
/** The least value of each type that a list can be sorted by. */
export const LEAST: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(KEY_BOUNDS).map(([type, [least]]) => [type, least])),
  text: '',
  'character varying': '',
  'timestamp with time zone': '-infinity',
  date: '-infinity',
};

/** PostgreSQL's least timestamp, in the year 4713 BC. */
const POSTGRES_MIN_MS = -210_866_803_200_000;

const DIGITS = /^(?:0|-?[1-9]\d{0,18})$/;
const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/;

/** Why lists of an entity cannot be sorted by id; undefined if they can. */
function whyNoPages({ primaryColumns, dataSource }: EntityMetadata): string | undefined {
  const [key, ...more] = primaryColumns;
  if (more.length > 0 || key?.propertyName !== 'id') return 'its key is not a single column `id`';
  if (key.transformer) return 'its id has a transformer';
  const type = dataSource.driver.normalizeType(key);
  return type in KEY_BOUNDS ? undefined : `its id is of type ${type}`;
}

/** Why a column cannot sort a list; undefined if it can. Cursors hold its values exactly as PostgreSQL has them. */
function whyNotSorted(column: ColumnMetadata): string | undefined {
  const type = column.entityMetadata.dataSource.driver.normalizeType(column);
  if (!(type in LEAST) || column.isArray) return `is of type ${type}${column.isArray ? '[]' : ''}`;
  if (column.isNullable) return 'can be null';
  if (column.transformer) return 'has a transformer';
  if (!column.isSelect) return 'is not selected';
  const isTooFine = type === 'timestamp with time zone' && (column.precision ?? 6) > 3;
  return isTooFine ? 'is finer than a millisecond: give it `precision: 3`' : undefined;
}

/** A sort value as text, for a cursor. */
export function sortText(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}

const INFINITE = /^-?Infinity$/;

/** The sort value of a text from a cursor; undefined if the text is none of the type. */
function sortValue(type: string, text: string): string | Date | undefined {
  if (type in KEY_BOUNDS) return isKeyText(type, text) ? text : undefined;
  if (type === 'text' || type === 'character varying') return isPlainText(text) ? text : undefined;
  if (INFINITE.test(text)) return text;
  const time = new Date(text);
  const isExact = time.getTime() >= POSTGRES_MIN_MS && time.toISOString().startsWith(text);
  if (type === 'date') return isExact && text.length === 10 ? text : undefined;
  return isExact && text.endsWith('Z') ? time : undefined;
}

/** Whether a text is a key of a type, as PostgreSQL spells it. */
function isKeyText(type: string, text: string): boolean {
  const bounds = KEY_BOUNDS[type]!;
  if (type === 'uuid') return UUID.test(text);
  return DIGITS.test(text) && BigInt(text) >= BigInt(bounds[0]) && BigInt(text) <= BigInt(bounds[1]);
}

/** Whether a text is an id of an entity. @throws TypeError if its lists cannot be sorted by id */
export function isKeyOf(entity: EntityMetadata, text: string): boolean {
  const reason = whyNoPages(entity);
  if (reason !== undefined) throw new TypeError(`A list of ${entity.name} has no pages: ${reason}`);
  return isKeyText(entity.dataSource.driver.normalizeType(entity.primaryColumns[0]!), text);
}

/** Whether a value is a key exactly as PostgreSQL writes it: no other text names the same row. */
export function isExactKey(type: string, value: unknown): value is string {
  return (type === 'bigint' || type === 'uuid') && typeof value === 'string' && isKeyText(type, value);
}

/** A text that no other value of the column has. */
export function textOf(value: unknown): string {
  // The text `null` differs from NULL by a NUL, which no text in PostgreSQL has.
  if (value === 'null') return 'null\0';
  return typeof value === 'object' ? JSON.stringify(value) : `${value as string | number | bigint | boolean}`;
}
