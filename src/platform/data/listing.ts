import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { EntityMetadata, ObjectLiteral } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { Cursors, Direction, Position } from '../api/index.js';
import { isKeyText, sortValue, whyNoPages, whyNotSorted } from './keys.js';
import { Range } from './range.js';
import { textOf } from './values.js';

/** The marks of lists asked for lately: to look one up takes a tenth of the time to make it. */
const marks = new LRUCache<string, string>({ max: 1_000 });
const MARK_LENGTH = 12;

/** What a list is in the order of, and the filters that the last release had for it. */
export interface Order {
  readonly sort?: string;
  readonly order?: Direction;
  readonly releasedFilters?: readonly string[];
}

/** A list of an entity's rows: which of them, and in what order. */
export class Listing implements Cursors {
  /** Values that rows have in some columns, null for none. */
  readonly equal: (readonly [property: string, value: unknown])[] = [];
  /** A column of which rows have one of several values. */
  readonly among?: readonly [property: string, values: readonly unknown[]];
  /** Between which values of what it is in the order of the rows are. */
  readonly range?: Range;
  /** What it is in the order of; undefined if that is the id. */
  readonly sort?: string;
  readonly isDescending: boolean;
  private readonly releasedFilters?: readonly string[];

  /**
   * In the ascending order of ids, where nothing else is asked for.
   * @throws TypeError for a list whose pages would not cost the same at any depth, whatever the indexes
   */
  constructor(
    private readonly entity: EntityMetadata,
    filter: ObjectLiteral,
    { sort = 'id', order, releasedFilters }: Order,
  ) {
    this.refuse(whyNoPages(entity));
    this.isDescending = order === 'desc';
    this.releasedFilters = releasedFilters;
    if (sort !== 'id') this.refuse(whyNotSorted(this.column((this.sort = sort))), sort);
    for (const name of Object.keys(filter)) {
      const value: unknown = filter[name];
      if (value instanceof Range) this.range = this.rangeOf(name, value);
      else if (Array.isArray(value) && !this.column(name).isArray) this.among = this.listOf(name, value);
      else if (value !== undefined) this.equal.push([name, value]);
    }
  }

  get bare(): Cursors['bare'] {
    const { sort, isDescending, releasedFilters, equal, among, range } = this;
    if (sort !== undefined || isDescending) return undefined;
    if (!releasedFilters) return 'read';
    const names = [...equal, ...(among ? [among] : [])].map(([name]) => name);
    return !range && names.every((name) => releasedFilters.includes(name)) ? 'written' : undefined;
  }

  get mark(): string {
    const text = this.text;
    let mark = marks.get(text);
    if (!mark) marks.set(text, (mark = hash('sha256', text, 'base64url').slice(0, MARK_LENGTH)));
    return mark;
  }

  isPosition({ id, value }: Position): boolean {
    const { sort } = this;
    if (!isKeyText(this.typeOf('id'), id) || (value === undefined) !== (sort === undefined)) return false;
    return value === undefined || sortValue(this.typeOf(sort!), value) !== undefined;
  }

  /** The values of a position, of what the list is in the order of, as a statement takes them. */
  valuesOf({ id, value }: Position): unknown[] {
    return value === undefined ? [id] : [sortValue(this.typeOf(this.sort!), value), id];
  }

  /** What tells it from all other lists. */
  private get text(): string {
    const { entity, equal, among, range, sort = 'id', isDescending } = this;
    const parts = equal.map(([name, value]) => `${name}=${textOf(value)}`);
    if (among) parts.push(`${among[0]} in ${JSON.stringify(among[1].map(textOf).toSorted())}`);
    if (range) parts.push(`${sort} in ${textOf([range.from, range.to].map((one) => one ?? null))}`);
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
    return [name, distinct(values)];
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

/** Each of some values once. */
function distinct(values: readonly unknown[]): unknown[] {
  return [...new Map(values.map((value) => [textOf(value), value])).values()];
}
