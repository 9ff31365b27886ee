import type { Direction, PageQuery, Position } from '../api/index.js';
import type { Range } from './listing.js';

type Single = string | number | bigint | boolean | Date | Uint8Array;

type Singles<Entity> = {
  [Key in keyof Entity as NonNullable<Entity[Key]> extends Single ? Key : never]: NonNullable<Entity[Key]>;
};

/** The values that columns of a row must have. To find rows with NULL, use TypeORM's `find`. */
export type Where<Entity> = Partial<Singles<Entity>>;

/** The rows to change: for each column, a value or a list of accepted values. */
export type Which<Entity> = {
  [Key in keyof Singles<Entity>]?: Singles<Entity>[Key] | readonly Singles<Entity>[Key][];
};

/**
 * Selects the rows of a list: any column by a value, or null for NULL; one column by a list of values; the
 * sort column by a range (`between`, `startingWith`). Undefined values are ignored, so that a request's optional
 * parameters can be passed on.
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

/** A page of a list, and its order. The query class of a list operation can be passed here. */
export interface PageOptions<Entity> extends Pick<PageQuery, 'limit' | 'cursor'> {
  /** The property to sort by, before the id; by default, the id alone. */
  readonly sort?: Sortable<Entity>;
  /** Ascending by default. */
  readonly order?: Direction;
}

/** Values of a row to add or change. In a new row, the other columns get their defaults. */
export type Values<Entity> = { readonly [Key in keyof Entity]?: Entity[Key] };

/** The first `limit` rows of a list, or the first `limit` rows after a position. */
export interface PageStart {
  readonly limit: number;
  readonly after?: Position;
}
