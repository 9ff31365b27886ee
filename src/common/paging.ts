import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import { ApiError } from './api-error.js';
import { field, UNREADABLE } from './field.js';
import { IntegerParam } from './params.js';
import { isInt64Text } from './int64.js';

const CURSOR = /^after:(.+)$/;

/** The position after one item, as clients see it: opaque, so that it can change. */
function encodeCursor(id: string): string {
  return Buffer.from(`after:${id}`).toString('base64url');
}

/** @throws ApiError `invalid_cursor` for anything that `encodeCursor` did not write */
function decodeCursor(cursor: unknown): unknown {
  if (typeof cursor !== 'string') return UNREADABLE;
  const id = CURSOR.exec(Buffer.from(cursor, 'base64url').toString())?.[1];
  if (!isInt64Text(id) || encodeCursor(id) !== cursor) throw new ApiError('invalid_cursor');
  return id;
}

/** The query parameters of every list. A list with filters extends this class with them. */
export class PageQuery {
  @IntegerParam({ description: 'Maximum number of items to return.', min: 1, max: 100, default: 20 })
  limit = 20;

  /** Inside the service: the id that the page starts after. */
  @field(
    {
      description: 'Where the page starts: taken from the `Link` header of the page before.',
      optional: true,
    },
    { schema: { type: 'string' }, must: 'one cursor', accepts: isInt64Text, read: decodeCursor },
  )
  cursor?: string;
}

/** One page of a list, and the cursor of the page after it where one follows. */
export interface Page<T> {
  items: T[];
  next?: string;
}

/**
 * Runs a query for one page, in the order of ascending ids. A page starts after an id, not at an offset: each costs
 * the same at any depth, and rows that come or change meanwhile neither repeat an item nor hide one.
 */
export async function paginate<T extends ObjectLiteral & { id: string }>(
  query: SelectQueryBuilder<T>,
  { limit, cursor }: PageQuery,
): Promise<Page<T>> {
  const id = `${query.alias}.id`;
  if (cursor !== undefined) query.andWhere(`${id} > :cursor`, { cursor });
  const items = await query
    .orderBy(id)
    .limit(limit + 1)
    .getMany();
  if (items.length <= limit) return { items };
  items.pop();
  return { items, next: encodeCursor(items[limit - 1]!.id) };
}
