import { ApiError } from './api-error.js';

/** A place in a list: behind the row with this id and, if the list is sorted by something else, with this value of it. */
export interface Position {
  readonly id: string;
  readonly value?: string;
}

/** The cursors of a list. */
export interface Cursors {
  /** Tells the list, its filters and its order from all others. */
  readonly mark: string;
  /** Whether it takes those of 1.0.0, which say nothing but an id: it is in ascending order of ids, as all were then. */
  readonly takesBare: boolean;
  /** Whether a position can be one of its rows. */
  isPosition(position: Position): boolean;
}

/** `after` stands where later cursors have a mark, which is longer. */
const BARE = 'after';
const CURSOR = /^([\w-]+):([^:]+)(?::(.*))?$/s;

/** A position as clients see it: opaque, so that it can change. */
export function encodeCursor(mark: string, { id, value }: Position): string {
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
  const isOwn = mark === cursors.mark || (mark === BARE && cursors.takesBare);
  if (!isOwn || !cursors.isPosition(position) || encodeCursor(mark, position) !== cursor)
    throw new ApiError('invalid_cursor');
  return position;
}
