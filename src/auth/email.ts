/** What an email can be made of: visible ASCII characters (RFC 5321), as sign-ups check in full. */
const EMAIL = /^[!-~]{1,254}$/;

/**
 * The form in which emails are counted, the same for all that one account answers to: ASCII letters in lower case. Null
 * for a text that is no account's. Other alphabets are not folded, as each program folds them in its own way: PostgreSQL
 * has `i` as the lower case of `İ`, and JavaScript has not. Of ASCII, `lower` under the collation "C" makes the same as
 * this, whatever the locale of the database.
 */
export function normalEmail(text: string): string | null {
  return EMAIL.test(text) ? text.toLowerCase() : null;
}
