import { ApiError } from './api-error.js';
import { field, UNREADABLE } from './field.js';
import { IntegerParam } from './params.js';
import { isInt64Text } from './int64.js';

const CURSOR = /^after:(.+)$/;

/** The position after an item, as clients see it: opaque, so that it can change. */
export function encodeCursor(id: string): string {
  return Buffer.from(`after:${id}`).toString('base64url');
}

/** @throws ApiError `invalid_cursor` for anything that `encodeCursor` did not write */
function decodeCursor(cursor: unknown): unknown {
  if (typeof cursor !== 'string') return UNREADABLE;
  const id = CURSOR.exec(Buffer.from(cursor, 'base64url').toString())?.[1];
  if (!isInt64Text(id) || encodeCursor(id) !== cursor) throw new ApiError('invalid_cursor');
  return id;
}

/** The query parameters of every list. A list with filters extends this class. */
export class PageQuery {
  @IntegerParam({
    description: 'Maximum number of items to return, 1 to 100.',
    min: 1,
    max: 100,
    default: 20,
  })
  limit = 20;

  /** Inside the service: the id after which the page starts. */
  @field(
    {
      description: 'Where the page starts: taken from the `Link` header of the page before.',
      optional: true,
    },
    {
      schema: { type: 'string' },
      must: 'a single cursor from a Link header',
      accepts: isInt64Text,
      read: decodeCursor,
    },
  )
  cursor?: string;
}

/** One page of a list, and the cursor of the next page if there is one. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly next?: string;
}
