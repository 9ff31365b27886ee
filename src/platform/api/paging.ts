import type { Type } from '@nestjs/common';
import { ApiError } from './api-error.js';
import { field, JsonText, objectWriter, type Serializer } from './dto.js';
import { EnumField, IntegerParam } from './fields.js';

/** Maximum number of items of a page; docs/guides/limits.md, paging.md and test/long/browser.test.ts name the number too. */
const MAX_LIMIT = 100;

/** The query parameters of every list. A list with filters extends this class. */
export class PageQuery {
  @IntegerParam({
    description: `Maximum number of items to return, 1 to ${MAX_LIMIT}.`,
    min: 1,
    max: MAX_LIMIT,
    optional: true,
  })
  limit = 20;

  @field(
    {
      description:
        'Where the page starts: taken from the `Link` header of the page before ([guide](/guides/paging)).',
      optional: true,
    },
    {
      schema: { type: 'string', minLength: 1 },
      must: 'a single cursor from a Link header',
      accepts: (value) => typeof value === 'string',
    },
  )
  cursor?: string;
}

export type Direction = 'asc' | 'desc';

const DIRECTIONS: Record<Direction, string> = {
  asc: 'Ascending: the least, the oldest, or the first in the alphabet comes first.',
  desc: 'Descending: the greatest, the newest, or the last in the alphabet comes first.',
};

/**
 * The parameter `order`, by which a client chooses the direction of a list. The initial value of the property is the default.
 * @param by the sort key, for the description
 */
export function OrderField({ by }: { by: string }): PropertyDecorator {
  const description = `Direction in which the list is sorted by ${by}.`;
  return EnumField({ description, name: 'Direction', values: DIRECTIONS, optional: true });
}

/**
 * The parameter `sort`, by which a client chooses the sort key of a list. The initial value of the property is the default.
 * @param options `name` names the enumeration in the document; `values` are properties of the rows with their meanings
 */
export function SortField(options: { name: string; values: Record<string, string> }) {
  const description = 'Property that orders the list; rows with equal values are ordered by `id`.';
  return EnumField({ description, optional: true, ...options });
}

/** The position after the row with this `id` and, in a list with another sort key, this `value` of the key. */
export interface Position {
  readonly id: string;
  readonly value?: string;
}

/** The cursors of a list. */
export interface Cursors {
  /** Identifies the list with its filters and its order. */
  readonly mark: string;
  /** Whether a position is valid in the list. */
  isPosition(position: Position): boolean;
}

const CURSOR = /^([\w-]+):([^:]+)(?::(.*))?$/s;

/** A position as an opaque text. A release may change the format: a cursor need only last for one walk through the list. */
function encode(mark: string, { id, value }: Position): string {
  const text = value === undefined ? `${mark}:${id}` : `${mark}:${id}:${value}`;
  return Buffer.from(text).toString('base64url');
}

/**
 * The position at which a page starts.
 * @throws ApiError `invalid_cursor` for a cursor of another list, other filters or another order
 */
export function decodeCursor(cursor: string, cursors: Cursors): Position {
  const [, mark = '', id = '', value] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  const position = value === undefined ? { id } : { id, value };
  if (mark !== cursors.mark || !cursors.isPosition(position) || encode(mark, position) !== cursor)
    throw new ApiError('invalid_cursor');
  return position;
}

/** The rows of a page, which several requests may share. */
export interface Slice {
  readonly rows: readonly unknown[];
  /** The position of the last row, if more rows follow. */
  readonly last?: Position;
}

/** One page of a list: its items, and the cursor of the next page, if there is one. */
export class Page<T extends { id: string }> {
  /** The items, which the caller may change: other pages have items of their own. */
  declare readonly items: T[];
  readonly next?: string;
  readonly #slice: Slice;
  readonly #read: (row: unknown) => T;
  #items?: T[];

  /**
   * @param list the cursors of the list
   * @param read makes an item of a row
   */
  constructor(slice: Slice, list: Pick<Cursors, 'mark'>, read: (row: unknown) => T) {
    this.#slice = slice;
    this.#read = read;
    // An own property, so that interceptors see and copy it; a getter, as most pages are written without `items`.
    Object.defineProperty(this, 'items', { get: () => (this.#items ??= this.readAll()), enumerable: true });
    this.next = slice.last && encode(list.mark, slice.last);
  }

  /** The shared rows; undefined once `items` was read, as the caller may have changed them. */
  get untouched(): readonly unknown[] | undefined {
    return this.#items ? undefined : this.#slice.rows;
  }

  /** Makes new items of the rows. */
  readAll(): T[] {
    return this.#slice.rows.map((row) => this.#read(row));
  }
}

type List = readonly object[] | { readonly items: readonly object[] };

/**
 * Writes lists of a DTO class as JSON: arrays, pages, and objects with `items` that interceptors have made. Rows that several
 * requests share are written once, unless `items` was read.
 */
export function listSerializer(type: Type): Serializer<List> {
  const write = objectWriter(type);
  const writeAll = (items: readonly object[]) => new JsonText(`[${items.map(write).join(',')}]`);
  const written = new WeakMap<readonly unknown[], JsonText>();
  return (list) => {
    const rows = list instanceof Page ? list.untouched : undefined;
    if (rows)
      return written.getOrInsertComputed(rows, () => writeAll((list as Page<{ id: string }>).readAll()));
    return writeAll('items' in list ? list.items : list);
  };
}
