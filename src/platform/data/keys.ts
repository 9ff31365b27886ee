import type { EntityMetadata } from 'typeorm';

/** The least and the greatest value of each type that a list can be in the order of. */
export const KEY_BOUNDS: Record<string, readonly [least: string, most: string]> = {
  bigint: ['-9223372036854775808', '9223372036854775807'],
  integer: ['-2147483648', '2147483647'],
  smallint: ['-32768', '32767'],
  uuid: ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
};

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
