import { isEmail } from 'class-validator';

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
