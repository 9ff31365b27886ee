import type { Direction, PageQuery, Position } from '../api/index.js';
import type { Range } from './listing.js';

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
}

/** Values for the columns of a row that is added or changed; for the others, the table's own. */
export type Values<Entity> = { readonly [Key in keyof Entity]?: Entity[Key] };

/** A place in a list: the first `limit` rows, or those after a position. */
export interface Place {
  readonly limit: number;
  readonly after?: Position;
}
