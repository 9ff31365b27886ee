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

type Parse = (text: string) => unknown;

const JSON_TYPES = new Set<number>([types.builtins.JSON, types.builtins.JSONB]);
/** A number holds every integer of fewer digits exactly. */
const MAY_LOSE_DIGITS = /\d{16}/;
const INTEGER = /^-?\d{16,19}$/;

/** The parser for a type of PostgreSQL: that of `pg`, except that 64-bit integers in JSON are not rounded. */
function parserOf(type: number): Parse {
  return JSON_TYPES.has(type) ? parseExactly : (types.getTypeParser(type) as Parse);
}

/** The parsers as an option of a query of `pg`. */
export const EXACT = { getTypeParser: parserOf as typeof types.getTypeParser };

/** Parses JSON with exact 64-bit integers: those beyond 2^53 − 1 become values of `JSON.rawJSON`. */
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
