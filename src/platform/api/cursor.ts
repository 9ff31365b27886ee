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
  /**
   * What becomes of cursors as 1.0.0 has them, which say nothing but an id. They are `written`, and read, where 1.0.0 has
   * the list too and is to continue its pages; `read` where 1.0.0 may have had it; refused elsewhere.
   */
  readonly bare?: 'written' | 'read';
  /** Whether a position can be one of its rows. */
  isPosition(position: Position): boolean;
}

/** `after` stands where later cursors have a mark, which is longer. */
const BARE = 'after';
const CURSOR = /^([\w-]+):([^:]+)(?::(.*))?$/s;

/** A position as clients see it: opaque, so that it can change, in two releases as `docs/versioning.md` says. */
export function encodeCursor({ mark, bare }: Pick<Cursors, 'mark' | 'bare'>, position: Position): string {
  return encode(bare === 'written' ? BARE : mark, position);
}

function encode(mark: string, { id, value }: Position): string {
  const text = value === undefined ? `${mark}:${id}` : `${mark}:${id}:${value}`;
  return Buffer.from(text).toString('base64url');
}

/**
 * The position at which a page starts.
 * @throws ApiError `invalid_cursor` for anything that did not come from a page of the same list, with the same filters
 * and order, as far as the cursor says so: one that is written as 1.0.0 did is good for all lists that 1.0.0 has
 */
export function decodeCursor(cursor: string, cursors: Cursors): Position {
  const [, mark = '', id = '', value] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  const position = value === undefined ? { id } : { id, value };
  const isOwn = mark === cursors.mark || (mark === BARE && cursors.bare);
  if (!isOwn || !cursors.isPosition(position) || encode(mark, position) !== cursor)
    throw new ApiError('invalid_cursor');
  return position;
}
