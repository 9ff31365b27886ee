import { isEmail } from 'class-validator';

// What JSON has no type of its own for: numbers with every digit, texts that can be stored, days, times, addresses.

/** Numbers as they were sent, where a double is not the same; by the object or array that holds them, and its name there. */
const sources = new WeakMap<object, Map<string, string>>();

const INTEGER = /^-?\d+$/;
// A fraction that a double may round away, such as 0.99999999999999999999 or 1e-400.
const FRACTION = /\.\d*[1-9]|[eE]-\d{3}/;
// Sixteen digits, with or without a point among them, may be a number that a double cannot hold; so may one with an exponent.
const MAY_LOSE_DIGITS = /(?:\d\.?){16}|\d[eE](?:\+?\d|-\d{3})/;
/** Longer ones are no amounts, and no ids: `BigInt` takes 50 ms for 100,000 digits, and 4 s for 4 million. */
const LONGEST_NUMBER = 100;
/** Beyond it are no ids: BigInt would take long to write what no field takes. */
const LARGEST = 2 ** 64;

/**
 * Parses JSON without losing digits: an integer beyond 2^53 − 1, of at most a hundred digits, becomes a bigint, a fraction that
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
  if (INTEGER.test(source))
    return Number.isSafeInteger(value) || source.length > LONGEST_NUMBER ? value : BigInt(source);
  if (source === String(value)) return value;
  keepSource(this as object, key, source);
  if (!Number.isInteger(value)) return value;
  if (!Number.isSafeInteger(value) && Math.abs(value) < LARGEST) return unitsOf(source, 0) ?? NaN;
  return FRACTION.test(source) && unitsOf(source, 0) === undefined ? NaN : value;
}

/** Remembers how a number was written, for whoever reads it from its holder. */
function keepSource(holder: object, name: string, source: string): void {
  const kept = sources.get(holder) ?? new Map<string, string>();
  sources.set(holder, kept.set(name, source));
}

/** A JSON number as text, with every digit that was sent. A double alone holds 15 of them. */
export function numberText(value: number | bigint, holder?: object, name?: string | number): string {
  return (holder && sources.get(holder)?.get(String(name))) ?? String(value);
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?)0*(\d{1,3}))?$/;

/**
 * A decimal number in units of its last decimal: `12.5` with two decimals is 1250. Exponents are as in JSON.
 * @returns undefined for anything else, and for a number with more decimals than that
 */
export function unitsOf(text: string, decimals: number): bigint | undefined {
  const [, sign, whole, fraction = '', direction = '', exponent = '0'] =
    (text.length <= LONGEST_NUMBER && NUMBER.exec(text)) || [];
  if (whole === undefined) return undefined;
  const digits = BigInt(`${sign}${whole}${fraction}`);
  const shift = decimals - fraction.length + Number(direction + exponent);
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return digits % divisor === 0n ? digits / divisor : undefined;
}

/** The number that `unitsOf` counted, with all its decimals: `12.50`. */
export function decimalText(units: bigint, decimals: number): string {
  const digits = String(units < 0n ? -units : units).padStart(decimals + 1, '0');
  const point = digits.length - decimals;
  const fraction = decimals > 0 ? `.${digits.slice(point)}` : '';
  return `${units < 0n ? '-' : ''}${digits.slice(0, point)}${fraction}`;
}

/** Whether a value is text that both UTF-8 and PostgreSQL can hold: no lone surrogate, no NUL. */
export function isPlainText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}

// Patterns of OpenAPI are searched by some languages and matched by others, and `\s` is another set in each: these are
// anchored at both ends and name the characters, those of ECMAScript's white space. The byte order mark is only named by
// its neighbours: Go compiles no file that holds it, and clients in Go hold the patterns.
const WHITE_SPACE = '\\x09-\\x0d\\x20\\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufefe-\uff00';
const NEIGHBOURS = '\ufefe\uff00';

/** Text without NUL, as every dialect of regular expressions reads it: JavaScript, Python, Java and Go. */
export const PLAIN = '^[^\\x00]*$';

/** The same with something in it that is not white space. */
export const NOT_BLANK = `^[${WHITE_SPACE}]*(?:[^\\x00${WHITE_SPACE}]|[${NEIGHBOURS}])[^\\x00]*$`;

/** Length as JSON Schema and PostgreSQL count it; a JavaScript string counts an emoji as two. */
export function lengthInCodePoints(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit <= 0xdbff) length--;
  }
  return length;
}

// Visible ASCII without the colon, which HTTP Basic cannot carry (RFC 7617).
const EMAIL_CHARACTERS = /^[!-9;-~]{1,254}$/;

/** Whether a value is an email address of at most 254 characters, all ASCII (RFC 5321). */
export function isEmailAddress(value: unknown): value is string {
  return typeof value === 'string' && EMAIL_CHARACTERS.test(value) && isEmail(value);
}

const HOST = String.raw`(?:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.?|\[[0-9A-Fa-f:.]+\])`;
const CHARACTER = String.raw`(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})`;
const WEB_ADDRESS = new RegExp(
  String.raw`^https?://${HOST}(?::\d{1,5})?(?:/${CHARACTER}*)?(?:\?(?:${CHARACTER}|\?)*)?(?:#(?:${CHARACTER}|\?)*)?$`,
);

/** Whether a text is an absolute http or https URL, without a password, in the characters of RFC 3986. */
export function isWebAddress(text: string): boolean {
  return WEB_ADDRESS.test(text) && URL.canParse(text);
}

const DAY = /^\d{4}-\d\d-\d\d$/;
const RFC_3339 =
  /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Whether a value is a day such as `2030-01-31` that the calendar has, in the years 1 to 9999. */
export function isDay(value: unknown): value is string {
  return typeof value === 'string' && DAY.test(value) && exists(value) && !value.startsWith('0000');
}

/** The time that a text names; undefined for a day that the calendar does not have, of which `Date` makes another. */
export function parseTime(text: string): Date | undefined {
  const day = RFC_3339.exec(text)?.[1];
  return day !== undefined && exists(day) ? new Date(text) : undefined;
}

function exists(day: string): boolean {
  const midnight = new Date(`${day}T00:00:00Z`);
  return Number.isFinite(midnight.getTime()) && midnight.toISOString().startsWith(day);
}
