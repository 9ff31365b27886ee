import type { EntityManager, ObjectLiteral } from 'typeorm';
import type { Direction, PageQuery, Position, Put, Slice } from '../api/index.js';
import type { Listing, Range } from './listing.js';
import type { OneStatement, Part } from './one-statement.js';

type Single = string | number | bigint | boolean | Date | Uint8Array;

/** The properties of an entity that are single values of columns. */
type Singles<Entity> = {
  [Key in keyof Entity as NonNullable<Entity[Key]> extends Single ? Key : never]: NonNullable<Entity[Key]>;
};

/** Values that a row has in some columns. To find rows that lack a value, there is TypeORM's own `find`. */
export type Where<Entity> = Partial<Singles<Entity>>;

/** Which rows to change: those with a value, or one of a list of values, in some columns. */
export type Which<Entity> = {
  [Key in keyof Singles<Entity>]?: Singles<Entity>[Key] | readonly Singles<Entity>[Key][];
};

/**
 * Which rows a list holds: those with a value in some columns, null for none; with one of a list of values in one column;
 * and in a range of what the list is in the order of (`between`, `startingWith`). Undefined ones are ignored, so that the
 * optional parameters of a request can be passed as they are.
 */
export type Filter<Entity> = {
  [Key in keyof Singles<Entity>]?:
    | Singles<Entity>[Key]
    | readonly Singles<Entity>[Key][]
    | Range<Singles<Entity>[Key]>
    | (null extends Entity[Key] ? null : never);
};

/** The properties that a list can be in the order of. */
type Sortable<Entity> = {
  [Key in keyof Entity]-?: Entity[Key] extends string | number | Date ? Key : never;
}[keyof Entity];

/** Which page of a list, and in what order the list is. A query class of a list is one. */
export interface Asked<Entity> extends Pick<PageQuery, 'limit' | 'cursor'> {
  /** What comes first in the order, the id being second; the id alone when left out. */
  readonly sort?: Sortable<Entity>;
  /** Ascending when left out. */
  readonly order?: Direction;
  /**
   * The filters that 1.0.0 had for this list. Where there are no others, in ascending order of ids, cursors of 1.0.0 and
   * 1.1.0 are good for it, which say nothing but an id.
   */
  readonly releasedFilters?: readonly (keyof Entity)[];
}

/** Values for the columns of a row that is added or changed; for the others, the table's own. */
export type Values<Entity> = { readonly [Key in keyof Entity]?: Entity[Key] };

/** A place in a list: the first `limit` rows, or those after a position. */
export interface Place {
  readonly limit: number;
  readonly after?: Position;
}

/** What `FastRepository` does, on the connection of a manager. */
export interface Rows {
  find(manager: EntityManager, where: ObjectLiteral): Promise<ObjectLiteral | null>;
  add(manager: EntityManager, values: ObjectLiteral): Promise<ObjectLiteral>;
  addAll(manager: EntityManager, values: readonly ObjectLiteral[]): Promise<ObjectLiteral[]>;
  /** What rows that nobody reads have in common with others that one statement inserts with them; undefined if none does. */
  unread(values: readonly ObjectLiteral[]): object | undefined;
  /** Inserts such rows. */
  addUnread(manager: EntityManager, values: readonly ObjectLiteral[]): Promise<unknown>;
  update(manager: EntityManager, which: ObjectLiteral, values: ObjectLiteral): Promise<ObjectLiteral[]>;
  /** Adds the row with the key that `where` has, or sets its values; null if what is there has something else than `where`. */
  put(
    manager: EntityManager,
    where: ObjectLiteral,
    values: ObjectLiteral,
  ): Promise<Put<ObjectLiteral> | null>;
  /** In a transaction: finds a row, keeps others from changing it, and saves what `work` sets. */
  change(
    manager: EntityManager,
    where: ObjectLiteral,
    work: (row: ObjectLiteral) => unknown,
  ): Promise<ObjectLiteral | null>;
  /** What is done as a part of one statement; undefined if nothing is. */
  readonly inOne?: RowsInOne;
  page(manager: EntityManager, list: Listing, place: Place): Promise<Slice>;
  /** An entity of a row of a slice, not shared with anybody. */
  read(row: unknown): ObjectLiteral;
}

/** What `FastRepository` does by one statement with other rows. All throw Unfit if this cannot be done. */
export interface RowsInOne {
  /** Adds the row that the statement is about, and what `also` adds for it. */
  add(
    statement: OneStatement,
    values: ObjectLiteral,
    also?: (draft: ObjectLiteral) => unknown,
  ): Promise<ObjectLiteral>;
  /** Changes the row that the statement is about, unless it is another than `work` has seen. */
  change(
    statement: OneStatement,
    where: ObjectLiteral,
    work: (row: ObjectLiteral) => unknown,
  ): Promise<ObjectLiteral>;
  /** Adds a row that nobody reads. */
  unread(values: ObjectLiteral): Part;
  /** Sets a row by its key. */
  set(where: ObjectLiteral, values: ObjectLiteral): Part;
}
