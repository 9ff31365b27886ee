import type { Direction, PageQuery, Position } from '../api/index.js';
import type { Range } from './listing.js';

type Single = string | number | bigint | boolean | Date | Uint8Array;

type Singles<Entity> = {
  [Key in keyof Entity as NonNullable<Entity[Key]> extends Single ? Key : never]: NonNullable<Entity[Key]>;
};

/** Values of columns of a row. For rows that lack a value, use `find` of TypeORM. */
export type Where<Entity> = Partial<Singles<Entity>>;

/** The rows to change: those with a value, or one of a list of values, in some columns. */
export type Which<Entity> = {
  [Key in keyof Singles<Entity>]?: Singles<Entity>[Key] | readonly Singles<Entity>[Key][];
};

/**
 * The rows of a list: those with a value in some columns, null for none; with one of a list of values in one column; and in
 * a range of the sort column (`between`, `startingWith`). Undefined values are ignored, so that the optional parameters of
 * a request can be passed on.
 */
export type Filter<Entity> = {
  [Key in keyof Singles<Entity>]?:
    | Singles<Entity>[Key]
    | readonly Singles<Entity>[Key][]
    | Range<Singles<Entity>[Key]>
    | (null extends Entity[Key] ? null : never);
};

type Sortable<Entity> = {
  [Key in keyof Entity]-?: Entity[Key] extends string | number | Date ? Key : never;
}[keyof Entity];

/** A page of a list, and its order; a query class of a list fits. */
export interface PageOptions<Entity> extends Pick<PageQuery, 'limit' | 'cursor'> {
  /** The property that the list is sorted by, before the id; the id alone when left out. */
  readonly sort?: Sortable<Entity>;
  /** Ascending when left out. */
  readonly order?: Direction;
}

/** Values for columns of a row that is added or changed; the table sets the others. */
export type Values<Entity> = { readonly [Key in keyof Entity]?: Entity[Key] };

/** The first `limit` rows of a list, or those after a position. */
export interface PageStart {
  readonly limit: number;
  readonly after?: Position;
}
