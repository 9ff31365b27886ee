import { hash } from 'node:crypto';
import type { ObjectLiteral } from 'typeorm';
import { ApiError, type Cursors, type Direction, type Position } from '../api/index.js';
import { codeOf } from '../database/index.js';
import type { Shape, ShapeColumn } from './shape.js';

/** A short hash that identifies a list in its cursors. */
export const markOf = (text: string): string => hash('sha256', text, 'base64url').slice(0, 12);

/** SQLSTATE class "data exception": a value that is invalid for the type of its column. */
const NO_VALUE = /^22/;

/** Turns a data exception into `invalid_cursor`: since the first page, only the cursor's values are new. */
export function invalidCursor(cause: unknown): never {
  if (!NO_VALUE.test(codeOf(cause) ?? '')) throw cause;
  throw new ApiError('invalid_cursor', undefined, { cause });
}

export interface Order {
  readonly sort?: string;
  readonly order?: Direction;
}

/** A list of an entity's rows, with its filter and order. */
export class Listing implements Cursors {
  /** Columns that have the same value in all rows of the list; null means NULL. */
  readonly equal: (readonly [property: string, value: unknown])[] = [];
  readonly among?: readonly [property: string, values: readonly unknown[]];
  readonly range?: Range;
  /** The sort column; undefined for the id. */
  readonly sort?: string;
  readonly isDescending: boolean;

  /** @throws TypeError for a list whose later pages would cost more, whatever the indexes */
  constructor(
    private readonly shape: Shape,
    filter: ObjectLiteral,
    { sort = 'id', order }: Order,
  ) {
    requirePages(shape);
    this.isDescending = order === 'desc';
    if (sort !== 'id') this.refuse(whyNotSorted(shape.column((this.sort = sort))), sort);
    for (const name of Object.keys(filter)) {
      const value: unknown = filter[name];
      if (value instanceof Range) this.range = this.rangeOf(name, value);
      else if (Array.isArray(value) && !shape.column(name).isArray) this.among = this.listOf(name, value);
      else if (value !== undefined) this.equal.push([name, value]);
    }
  }

  /** Must be the same in every release: during an upgrade, one release continues a list that another began. */
  get mark(): string {
    const { shape, equal, among, range, sort = 'id', isDescending } = this;
    const parts = equal.map(([name, value]) => `${name}=${textOf(value)}`);
    if (among) parts.push(`${among[0]} in ${JSON.stringify(among[1].map(textOf).toSorted())}`);
    if (range) parts.push(`${sort} in ${textOf([range.from, range.to].map((bound) => bound ?? null))}`);
    const { tableName } = shape.entity;
    return markOf(`${tableName} by ${sort}${isDescending ? ' down' : ''}\0${parts.toSorted().join('\0')}`);
  }

  isPosition({ value }: Position): boolean {
    const { sort } = this;
    if (value === undefined || sort === undefined) return value === sort;
    return TIMES[this.shape.column(sort).type]?.test(value) ?? true;
  }

  /** Equal for lists that differ in values alone, so that they share a prepared statement. */
  get form(): string {
    const { equal, among, range, sort = '', isDescending } = this;
    const names = equal.map(([name, value]) => (value === null ? `${name} null` : name));
    const ends = range && [range.from !== undefined, range.to !== undefined];
    return `${names.join()} ${among?.[0] ?? ''} ${ends?.join() ?? ''} ${sort} ${isDescending}`;
  }

  private rangeOf(name: string, range: Range): Range {
    const { sort = 'id' } = this;
    if (name !== sort) this.refuse(`has a range of ${name}, so it must be sorted by ${name}`);
    if (range.isPrefix && this.shape.column(sort).metadata.collation !== 'C')
      this.refuse("needs the collation 'C' for a filter by prefix, in its migration too", sort);
    return range;
  }

  private listOf(name: string, values: unknown[]): [string, unknown[]] {
    if (this.among)
      this.refuse(
        `can be filtered by several values of one property only, not of both ${this.among[0]} and ${name}`,
      );
    return [name, [...new Map(values.map((value) => [textOf(value), value])).values()]];
  }

  private refuse(reason: string | undefined, property?: string): void {
    if (reason === undefined) return;
    const { name } = this.shape.entity;
    const what = property === undefined ? `A list of ${name}` : `${name}.${property}`;
    throw new TypeError(`${what} ${reason}`);
  }
}

const LAST_CODE_POINT = 0x10ffff;
const SURROGATES = { first: 0xd800, next: 0xe000 };

/** Values from `from` up to but not including `to`; an undefined end is open. */
export class Range<Value = unknown> {
  constructor(
    readonly from: Value | undefined,
    readonly to: Value | undefined,
    /** Whether this is the range of a prefix, which is correct only if the texts are in code point order. */
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

/** The first text, in the order of code points, after all texts with a prefix; undefined if there is none. */
function successorOf(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0)!);
  while (points.at(-1) === LAST_CODE_POINT) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  const next = last + 1 === SURROGATES.first ? SURROGATES.next : last + 1;
  return String.fromCodePoint(...points, next);
}

/** The least id of each type that pages support. */
const LEAST_KEY: Record<string, string> = {
  bigint: '-9223372036854775808',
  integer: '-2147483648',
  smallint: '-32768',
  uuid: '00000000-0000-0000-0000-000000000000',
};
/** The least value of each type that a list can be sorted by. */
export const LEAST: Readonly<Record<string, string>> = {
  ...LEAST_KEY,
  text: '',
  'character varying': '',
  'timestamp with time zone': '-infinity',
  date: '-infinity',
};

/** The formats of times in cursors; PostgreSQL would read other texts too. */
const TIMES: Record<string, RegExp> = {
  'timestamp with time zone': /^(?:(?:[+-]\d\d)?\d{4}-\d\d-\d\dT[\d:.]{12}Z|-?Infinity)$/,
  date: /^(?:\d{4,}-\d\d-\d\d(?: BC)?|-?[Ii]nfinity)$/,
};

/** @throws TypeError for an entity whose lists cannot be sorted by id */
export function requirePages({ entity, keys: [key, ...more] }: Shape): void {
  const { property, type, metadata } = key!;
  const refuse = (reason: string) => {
    throw new TypeError(`A list of ${entity.name} has no pages: ${reason}`);
  };
  if (more.length > 0 || property !== 'id') refuse('its key is not a single column `id`');
  if (metadata.transformer) refuse('its id has a transformer');
  if (!(type in LEAST_KEY)) refuse(`its id is of type ${type}`);
}

/** Why a column cannot sort a list; undefined if it can. Cursors must hold the column's values without loss. */
function whyNotSorted({ type, metadata: column }: ShapeColumn): string | undefined {
  if (!(type in LEAST) || column.isArray) return `is of type ${type}${column.isArray ? '[]' : ''}`;
  if (column.isNullable) return 'can be null';
  if (column.transformer) return 'has a transformer';
  if (!column.isSelect) return 'is not selected';
  const isTooFine = type === 'timestamp with time zone' && (column.precision ?? 6) > 3;
  return isTooFine ? 'is finer than a millisecond: give it `precision: 3`' : undefined;
}

/** A text that no other value of the column has. */
export function textOf(value: unknown): string {
  // A NUL character, which no text in PostgreSQL contains, tells the text `null` from the value NULL.
  if (value === 'null') return 'null\0';
  return typeof value === 'object' ? JSON.stringify(value) : `${value as string | number | bigint | boolean}`;
}
