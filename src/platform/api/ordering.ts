import type { FieldOptions } from './field.js';
import { EnumField } from './fields.js';

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
export function OrderField({ by }: Pick<FieldOptions, 'default'> & { by: string }): PropertyDecorator {
  const description = `Direction of the list, which is in the order of ${by}.`;
  return EnumField({ description, name: 'Direction', values: DIRECTIONS, optional: true });
}

/**
 * The parameter `sort`, by which a client chooses what a list is in the order of. The initial value of its property is
 * what it is without it.
 * @param options `name` is the enumeration's in the document; `values` are properties of the rows, each with its meaning
 */
export function SortField(
  options: Pick<FieldOptions, 'default'> & { name: string; values: Record<string, string> },
) {
  const description = 'What the list is in the order of; of equal ones, the lower `id` is before the higher.';
  return EnumField({ description, optional: true, ...options });
}
