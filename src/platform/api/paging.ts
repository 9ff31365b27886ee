import { type Cursors, encodeCursor, type Position } from './cursor.js';
import { field } from './field.js';
import { IntegerParam } from './params.js';

/** The query parameters of every list. A list with filters extends this class. */
export class PageQuery {
  @IntegerParam({
    description: 'Maximum number of items to return, 1 to 100.',
    min: 1,
    max: 100,
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
    private readonly list: Pick<Cursors, 'mark' | 'bare'>,
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
    const { last } = this.slice;
    return last && encodeCursor(this.list, last);
  }
}
