import { isEmail } from 'class-validator';
import { parseExactly } from '../process/index.js';

// Formats that JSON has no type for: numbers with every digit, texts that can be stored, days, times, addresses.

/** The text of each number that a double cannot hold exactly, keyed by its object or array, then by its name or index. */
const sources = new WeakMap<object, Map<string, string>>();

const INTEGER = /^-?\d+$/;
// A fraction that a double may round away, such as 0.99999999999999999999 or 1e-400.
const FRACTION = /\.\d*[1-9]|[eE]-\d{3}/;
/** Longer numbers are neither amounts nor ids, and `BigInt` takes 50 ms for 100,000 digits, 4 s for 4 million. */
const MAX_NUMBER_LENGTH = 100;
/** No id reaches this value, and `BigInt` would take long to write larger numbers. */
const ABOVE_INT64 = 2 ** 64;

/**
 * Parses JSON without losing digits: an integer beyond 2^53 − 1, of at most a hundred digits, becomes a bigint; a fraction that
 * would round to an integer becomes NaN; `numberText` returns the sent digits of any number.
 * @throws as `parseExactly`
 */
export function parseJson(text: string): unknown {
  return parseExactly(text, exactly);
}

function exactly(source: string, value: number, holder: object, name: string): unknown {
  if (INTEGER.test(source))
    return Number.isSafeInteger(value) || source.length > MAX_NUMBER_LENGTH ? value : BigInt(source);
  if (source === String(value)) return value;
  sources.getOrInsertComputed(holder, () => new Map()).set(name, source);
  if (!Number.isInteger(value)) return value;
  if (!Number.isSafeInteger(value) && Math.abs(value) < ABOVE_INT64) return unitsOf(source, 0) ?? NaN;
  return FRACTION.test(source) && unitsOf(source, 0) === undefined ? NaN : value;
}

/** A JSON number as text, with every digit that was sent; a double alone holds 15. */
export function numberText(value: number | bigint, holder?: object, name?: string | number): string {
  return (holder && sources.get(holder)?.get(String(name))) ?? String(value);
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?)0*(\d{1,3}))?$/;

/**
 * A decimal number in units of its last decimal: `12.5` with two decimals is 1250. Exponents are as in JSON.
 * @returns undefined for any other text, and for a number with more decimals
 */
export function unitsOf(text: string, decimals: number): bigint | undefined {
  const [, sign, whole, fraction = '', direction = '', exponent = '0'] =
    (text.length <= MAX_NUMBER_LENGTH && NUMBER.exec(text)) || [];
  if (whole === undefined) return undefined;
  const digits = BigInt(`${sign}${whole}${fraction}`);
  const shift = decimals - fraction.length + Number(direction + exponent);
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return digits % divisor === 0n ? digits / divisor : undefined;
}

/** The inverse of `unitsOf`, with all decimals: `12.50`. */
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

// Languages differ in how they apply a `pattern` (search or match) and in what `\s` covers. So these patterns are anchored, and
// list ECMAScript's white space. Generated clients contain the patterns as literals, where Go refuses the byte order mark,
// TypeScript ends a line at U+2028 and U+2029, and Rust refuses the bidirectional controls U+202A to U+202E. So these
// characters appear only inside ranges with other ends, and the pattern also refuses text of bidirectional controls alone.
const WHITE_SPACE = '\\x09-\\x0d\\x20\\xa0\u1680\u2000-\u200a\u2027-\u202f\u205f\u3000\ufefe-\uff00';
const NEIGHBOURS = '\u2027\ufefe\uff00';

/** Text without NUL, in a syntax that JavaScript, Python, Java and Go share. */
export const PLAIN = '^[^\\x00]*$';

/** Text without NUL that is not only white space. */
export const NOT_BLANK = `^[${WHITE_SPACE}]*(?:[^\\x00${WHITE_SPACE}]|[${NEIGHBOURS}])[^\\x00]*$`;

/** The length as JSON Schema and PostgreSQL count it; JavaScript counts an emoji as two. */
export function lengthInCodePoints(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit <= 0xdbff) length--;
  }
  return length;
}

// Visible ASCII without the colon, which separates email and password in HTTP Basic (RFC 7617).
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

/** Whether a text is an absolute http or https URL without a password, in RFC 3986 characters only. */
export function isWebAddress(text: string): boolean {
  return WEB_ADDRESS.test(text) && URL.canParse(text);
}

const DAY = /^\d{4}-\d\d-\d\d$/;
const RFC_3339 =
  /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|(60))(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

/** Whether a value is a calendar day such as `2030-01-31` in the years 1 to 9999. */
export function isDay(value: unknown): value is string {
  return typeof value === 'string' && DAY.test(value) && exists(value) && !value.startsWith('0000');
}

/**
 * Parses a time; undefined for a day outside the calendar, such as 30 February, which `Date` would move into March. A leap
 * second, valid only at the end of a UTC day, becomes the next second, as in PostgreSQL: `Date` has no leap seconds.
 */
export function parseTime(text: string): Date | undefined {
  const [, day, leap] = RFC_3339.exec(text) ?? [];
  if (day === undefined || !exists(day)) return undefined;
  const time = text.toUpperCase();
  if (!leap) return new Date(time);
  const next = new Date(Date.parse(time.replace(':60', ':59')) + 1_000);
  return next.toISOString().includes('T00:00:00') ? next : undefined;
}

function exists(day: string): boolean {
  const midnight = new Date(`${day}T00:00:00Z`);
  return Number.isFinite(midnight.getTime()) && midnight.toISOString().startsWith(day);
}
