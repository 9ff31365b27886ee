/** The least and the greatest value of each type that a list can be in the order of. */
export const KEY_BOUNDS: Record<string, readonly [least: string, most: string]> = {
  bigint: ['-9223372036854775808', '9223372036854775807'],
  integer: ['-2147483648', '2147483647'],
  smallint: ['-32768', '32767'],
  uuid: ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
};

const DIGITS = /^(?:0|-?[1-9]\d{0,18})$/;
const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/;

/** Whether a text is a key of some type, spelled as PostgreSQL spells it. Every text is one of a type that is text. */
export function isKeyText(type: string, text: string): boolean {
  const bounds = KEY_BOUNDS[type];
  if (!bounds) return !text.includes('\0');
  if (type === 'uuid') return UUID.test(text);
  return DIGITS.test(text) && BigInt(text) >= BigInt(bounds[0]) && BigInt(text) <= BigInt(bounds[1]);
}
