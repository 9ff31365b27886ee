/** Visible ASCII characters (RFC 5321); a sign-up checks an email in full. */
const EMAIL = /^[!-~]{1,254}$/;

/**
 * The normal form of an email, for comparison: ASCII letters in lower case; null for a text that no account can have. Other
 * alphabets are not folded, as each program folds them differently: `i` is the lower case of `İ` in PostgreSQL, but not in
 * JavaScript. For ASCII, `lower` with the collation "C" gives the same result, whatever the locale of the database.
 */
export function normalEmail(text: string): string | null {
  return EMAIL.test(text) ? text.toLowerCase() : null;
}
