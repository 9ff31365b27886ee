import type { Type } from '@nestjs/common';
import { ApiError } from './api-error.js';
import { field, JsonText, objectWriter, type Serializer } from './dto.js';
import { EnumField, IntegerParam } from './fields.js';

/** The most items of a page; docs/guides/limits.md and paging.md name the number too. */
const MOST = 100;

/** The query parameters of every list. A list with filters extends this class. */
export class PageQuery {
  @IntegerParam({
    description: `Maximum number of items to return, 1 to ${MOST}.`,
    min: 1,
    max: MOST,
  })
  limit = 20;

  @field(
    {
      description:
        'Where the page starts: taken from the `Link` header of the page before ([guide](/guides/paging)).',
      optional: true,
    },
    {
      schema: { type: 'string' },
      must: 'a single cursor from a Link header',
      accepts: (value) => typeof value === 'string',
    },
  )
  cursor?: string;
}

/** Which end of a list comes first: the least, oldest, or first in the alphabet; or the other. */
export type Direction = 'asc' | 'desc';

const DIRECTIONS: Record<Direction, string> = {
  asc: 'Ascending: the least, the oldest, or the first in the alphabet comes first.',
  desc: 'Descending: the greatest, the newest, or the last in the alphabet comes first.',
};

/**
 * The parameter `order`, by which a client chooses the direction of a list. The initial value of its property is the
 * direction without it.
 * @param by what the list is in the order of
 */
export function OrderField({ by }: { by: string; default?: unknown }): PropertyDecorator {
  const description = `Direction of the list, which is in the order of ${by}.`;
  return EnumField({ description, name: 'Direction', values: DIRECTIONS, optional: true });
}

/**
 * The parameter `sort`, by which a client chooses what a list is in the order of. The initial value of its property is
 * what it is without it.
 * @param options `name` is the enumeration's in the document; `values` are properties of the rows, each with its meaning
 */
export function SortField(options: { name: string; values: Record<string, string>; default?: unknown }) {
  const description = 'What the list is in the order of; of equal ones, the lower `id` is before the higher.';
  return EnumField({ description, optional: true, ...options });
}

/** A place in a list: behind the row with this id and, if the list is sorted by something else, with this value of it. */
export interface Position {
  readonly id: string;
  readonly value?: string;
}

/** The cursors of a list. */
export interface Cursors {
  /** Tells the list, its filters and its order from all others. */
  readonly mark: string;
  /** Whether a position can be one of its rows. */
  isPosition(position: Position): boolean;
}

const CURSOR = /^([\w-]+):([^:]+)(?::(.*))?$/s;

/** A position as clients see it: opaque, so that it can change with a release; a cursor lasts for a walk. */
function encode(mark: string, { id, value }: Position): string {
  const text = value === undefined ? `${mark}:${id}` : `${mark}:${id}:${value}`;
  return Buffer.from(text).toString('base64url');
}

/**
 * The position at which a page starts.
 * @throws ApiError `invalid_cursor` for anything that did not come from a page of the same list, with the same filters
 * and order
 */
export function decodeCursor(cursor: string, cursors: Cursors): Position {
  const [, mark = '', id = '', value] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  const position = value === undefined ? { id } : { id, value };
  if (mark !== cursors.mark || !cursors.isPosition(position) || encode(mark, position) !== cursor)
    throw new ApiError('invalid_cursor');
  return position;
}

/** The rows of a page as they were read; several requests may share them. */
export interface Slice {
  readonly rows: readonly unknown[];
  /** The place of the last row, if more rows follow. */
  readonly last?: Position;
}

/** One page of a list. */
export class Page<T extends { id: string }> {
  private own?: T[];

  /**
   * @param list what its cursors are good for
   * @param read makes an item of a row
   */
  constructor(
    private readonly slice: Slice,
    private readonly list: Pick<Cursors, 'mark'>,
    private readonly read: (row: unknown) => T,
  ) {}

  /** The rows, of which the items will be made; undefined once somebody has taken the items, and may have changed them. */
  get untouched(): readonly unknown[] | undefined {
    return this.own ? undefined : this.slice.rows;
  }

  /** The items, which belong to whoever asked for the page. */
  get items(): T[] {
    return (this.own ??= this.readAll());
  }

  /** Items that nobody else has. */
  readAll(): T[] {
    return this.slice.rows.map((row) => this.read(row));
  }

  /** The cursor of the next page, if there is one. */
  get next(): string | undefined {
    return this.slice.last && encode(this.list.mark, this.slice.last);
  }
}

/** Writes pages, and lists, of a DTO class as JSON. A page that several requests share, and none has touched, is written once. */
export function listSerializer(type: Type): Serializer<Page<{ id: string }> | readonly object[]> {
  const write = objectWriter(type);
  const writeAll = (items: readonly object[]) => new JsonText(`[${items.map(write).join(',')}]`);
  const written = new WeakMap<readonly unknown[], JsonText>();
  return (list) => {
    if (!(list instanceof Page)) return writeAll(list);
    const rows = list.untouched;
    if (!rows) return writeAll(list.items);
    let json = written.get(rows);
    if (!json) written.set(rows, (json = writeAll(list.readAll())));
    return json;
  };
}
