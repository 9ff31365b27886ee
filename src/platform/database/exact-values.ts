import { isDate } from 'node:util/types';
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
export function readerOf(type: number): Read {
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

/** A day before the last time that a Date can hold, in milliseconds: until then, its local time is one too. */
const LAST = 8.64e15 - 86_400_000;

/**
 * Values of parameters, with every Date as a text of its local time and its offset to the second. A `timestamp` column then holds
 * what TypeORM documents, the local time; a `timestamptz` column the exact instant in zones whose offset had odd seconds
 * before 1900 too, which `pg` cuts off.
 */
export function withExactTimes<Values extends readonly unknown[]>(values: Values): Values {
  return values.some(holdsTime) ? (values.map(exact) as unknown as Values) : values;
}

function holdsTime(value: unknown): boolean {
  return isDate(value) || (Array.isArray(value) && value.some(holdsTime));
}

function exact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(exact);
  return isDate(value) && Math.abs(value.getTime()) < LAST ? textOf(value) : value;
}

function textOf(time: Date): string {
  const local = time.toTemporalInstant().toZonedDateTimeISO(Temporal.Now.timeZoneId());
  const { year, offset } = local;
  const text = local.toPlainDateTime().toString({ fractionalSecondDigits: 3 });
  const rest = text.replace(/^.*?(?=-\d\d-\d\dT)/, '');
  // The year before 1 is 1 BC.
  return `${String(year > 0 ? year : 1 - year).padStart(4, '0')}${rest}${offset}${year > 0 ? '' : ' BC'}`;
}
