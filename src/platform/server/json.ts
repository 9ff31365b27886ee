import { keepSource, unitsOf } from '../api/index.js';

const INTEGER = /^-?\d+$/;
// A fraction that a double may round away, such as 0.99999999999999999999 or 1e-400.
const FRACTION = /\.\d*[1-9]|[eE]-\d{3}/;
// Sixteen digits, with or without a point among them, may be a number that a double cannot hold; so may one with an exponent.
const MAY_LOSE_DIGITS = /(?:\d\.?){16}|\d[eE](?:\+?\d|-\d{3})/;
/** Beyond it are no ids: BigInt would take long to write what no field takes. */
const LARGEST = 2 ** 64;

/**
 * Parses JSON without losing digits: an integer beyond 2^53 − 1 becomes a bigint, however it is written, a fraction that
 * would be rounded to an integer becomes NaN, everything else is as usual; how a number was written stays known to
 * `numberText`. The exact path costs a call per value, so it is taken only if some number may need it.
 * @throws SyntaxError, or RangeError if the text nests too deeply
 */
export function parseJson(text: string): unknown {
  if (!MAY_LOSE_DIGITS.test(text)) return JSON.parse(text);
  return JSON.parse(text, exactly);
}

function exactly(this: unknown, key: string, value: unknown, { source }: { source?: string }): unknown {
  if (typeof value !== 'number' || source === undefined) return value;
  if (INTEGER.test(source)) return Number.isSafeInteger(value) ? value : BigInt(source);
  if (source === String(value)) return value;
  keepSource(this as object, key, source);
  if (!Number.isInteger(value)) return value;
  if (!Number.isSafeInteger(value) && Math.abs(value) < LARGEST) return unitsOf(source, 0) ?? NaN;
  return FRACTION.test(source) && unitsOf(source, 0) === undefined ? NaN : value;
}
