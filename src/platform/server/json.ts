declare global {
  interface JSON {
    parse(
      text: string,
      reviver: (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown,
    ): unknown;
  }
}

const INTEGER = /^-?\d+$/;
// A fraction that a double may round away, such as 0.99999999999999999999.
const FRACTION = /\.\d*[1-9]/;
// Sixteen digits in a row may be an integer that a double cannot hold.
const MAY_LOSE_DIGITS = /\d{16}/;

/**
 * Parses JSON without losing digits: an integer beyond 2^53 − 1 becomes a bigint, a fraction that would be rounded to
 * an integer becomes NaN, everything else is as usual. The exact path costs a call per value, so it is taken only if
 * some number is long enough to need it.
 * @throws SyntaxError, or RangeError if the text nests too deeply
 */
export function parseJson(text: string): unknown {
  if (!MAY_LOSE_DIGITS.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value, { source }) => {
    if (typeof value !== 'number' || source === undefined) return value;
    if (INTEGER.test(source)) return Number.isSafeInteger(value) ? value : BigInt(source);
    return Number.isInteger(value) && FRACTION.test(source) ? NaN : value;
  });
}
