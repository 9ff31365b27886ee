import { types } from 'pg';

declare global {
  interface JSON {
    /** A number that `JSON.stringify` writes with these digits. */
    rawJSON(digits: string): { readonly rawJSON: string };
    parse(
      text: string,
      reviver: (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown,
    ): unknown;
  }
}

type Read = (text: string) => unknown;

/** The types `json` and `jsonb`. */
const OF_JSON = new Set<number>([types.builtins.JSON, types.builtins.JSONB]);
/** Of fewer digits, every integer is exact in a number. */
const MAY_LOSE_DIGITS = /\d{16}/;
const INTEGER = /^-?\d{16,19}$/;

/** How the values of a type are read from PostgreSQL's text: as `pg` does, but no integer of 64 bits in JSON is rounded. */
function readerOf(type: number): Read {
  return OF_JSON.has(type) ? parseExactly : (types.getTypeParser(type) as Read);
}

/** The same as `pg` takes it with a query. */
export const EXACT = { getTypeParser: readerOf as typeof types.getTypeParser };

/** JSON whose integers of 64 bits are exact: those beyond 2^53 − 1 are what `JSON.rawJSON` makes. */
function parseExactly(text: string): unknown {
  return MAY_LOSE_DIGITS.test(text) ? JSON.parse(text, exactly) : JSON.parse(text);
}

function exactly(
  this: unknown,
  _name: string,
  value: unknown,
  { source = '' }: { source?: string },
): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || !INTEGER.test(source)) return value;
  const digits = BigInt(source);
  return BigInt.asIntN(64, digits) === digits ? JSON.rawJSON(source) : value;
}
