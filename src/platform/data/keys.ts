import type { EntityMetadata } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { isPlainText } from '../api/index.js';

/** The least and the greatest value of each type that an id of a list can have. */
const KEY_BOUNDS: Record<string, readonly [least: string, most: string]> = {
  bigint: ['-9223372036854775808', '9223372036854775807'],
  integer: ['-2147483648', '2147483647'],
  smallint: ['-32768', '32767'],
  uuid: ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
};
/** The least value of each type that a list can be in the order of. */
export const LEAST: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(KEY_BOUNDS).map(([type, [least]]) => [type, least])),
  text: '',
  'character varying': '',
  'timestamp with time zone': '-infinity',
  date: '-infinity',
};

/** PostgreSQL's first time, in the year 4713 BC. */
const POSTGRES_BEGINS = -210_866_803_200_000;

const DIGITS = /^(?:0|-?[1-9]\d{0,18})$/;
const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/;

/** Why the rows of an entity cannot be put in the order of their ids; undefined if they can. */
export function whyNoPages({ primaryColumns, dataSource }: EntityMetadata): string | undefined {
  const [key, ...more] = primaryColumns;
  if (more.length > 0 || key?.propertyName !== 'id') return 'its key is not one column `id`';
  if (key.transformer) return 'its id has a transformer';
  const type = dataSource.driver.normalizeType(key);
  return type in KEY_BOUNDS ? undefined : `its id is of type ${type}`;
}

/**
 * Why the rows of an entity cannot be put in the order of a column, and of their ids where that is equal; undefined if
 * they can. A row's value of it stands in cursors, and must be the one that PostgreSQL has.
 */
export function whyNotSorted(column: ColumnMetadata): string | undefined {
  const type = column.entityMetadata.dataSource.driver.normalizeType(column);
  if (!(type in LEAST) || column.isArray) return `is of type ${type}${column.isArray ? '[]' : ''}`;
  if (column.isNullable) return 'can be null';
  if (column.transformer) return 'has a transformer';
  if (!column.isSelect) return 'is kept from answers';
  const isTooFine = type === 'timestamp with time zone' && (column.precision ?? 6) > 3;
  return isTooFine ? 'is finer than a millisecond: give it `precision: 3`' : undefined;
}

/** A value that a list is in the order of, as its cursors have it. */
export function sortText(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}

const INFINITE = /^-?Infinity$/;

/** The value that such a text stands for; undefined where it cannot be one of its type. */
export function sortValue(type: string, text: string): string | Date | undefined {
  if (type in KEY_BOUNDS) return isKeyText(type, text) ? text : undefined;
  if (type === 'text' || type === 'character varying') return isPlainText(text) ? text : undefined;
  if (INFINITE.test(text)) return text;
  const time = new Date(text);
  const isExact = time.getTime() >= POSTGRES_BEGINS && time.toISOString().startsWith(text);
  if (type === 'date') return isExact && text.length === 10 ? text : undefined;
  return isExact && text.endsWith('Z') ? time : undefined;
}

/** Compares two keys as PostgreSQL does: numbers, texts of digits, or UUIDs, whose order is that of their text. */
export function compareKeys(a: unknown, b: unknown): number {
  if (typeof a === 'number') return a - (b as number);
  const [one, other] = [a as string, b as string];
  if (UUID.test(one)) return one < other ? -1 : 1;
  return one.startsWith('-') || other.startsWith('-')
    ? Number(BigInt(one) > BigInt(other)) * 2 - 1
    : one.length - other.length || (one < other ? -1 : 1);
}

/** Whether a text is a key of some type, spelled as PostgreSQL spells it. */
export function isKeyText(type: string, text: string): boolean {
  const bounds = KEY_BOUNDS[type]!;
  if (type === 'uuid') return UUID.test(text);
  return DIGITS.test(text) && BigInt(text) >= BigInt(bounds[0]) && BigInt(text) <= BigInt(bounds[1]);
}

/** Whether a value is the very text that PostgreSQL has of a key: no other text is of the same row. */
export function isExactKey(type: string, value: unknown): value is string {
  return (type === 'bigint' || type === 'uuid') && typeof value === 'string' && isKeyText(type, value);
}
