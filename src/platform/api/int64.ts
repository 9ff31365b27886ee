const DIGITS = /^(?:0|-?[1-9]\d{0,18})$/;
const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;

/** Whether a text is an int64 in plain decimal digits: no `+` sign, leading zero, exponent, hex or white space. */
export function isInt64Text(text: unknown): text is string {
  return typeof text === 'string' && DIGITS.test(text) && inRange(text);
}

/** The decimal text of a JSON integer in the range of an int64, else undefined. */
export function int64FromJson(value: unknown): string | undefined {
  if (typeof value === 'bigint') return value >= MIN && value <= MAX ? value.toString() : undefined;
  // `+ 0` turns -0, which JSON can express, into 0.
  return Number.isSafeInteger(value) ? String((value as number) + 0) : undefined;
}

function inRange(text: string): boolean {
  if (text.length < 19) return true;
  const value = BigInt(text);
  return value >= MIN && value <= MAX;
}
