declare global {
  interface JSON {
    /** A number that `JSON.stringify` writes with these digits. */
    rawJSON(digits: string): { readonly rawJSON: string };
    isRawJSON(value: unknown): boolean;
    parse(
      text: string,
      reviver: (this: object, key: string, value: unknown, context: { source?: string }) => unknown,
    ): unknown;
  }
}

// A number of sixteen digits, with or without a decimal point, or with an exponent, may not fit a double.
const MAY_LOSE_DIGITS = /(?:\d\.?){16}|\d[eE](?:\+?\d|-\d{3})/;

/**
 * Parses JSON whose numbers may have more digits than a double holds. A reviver costs a call per value, so it runs only if
 * the text contains a number that may lose digits.
 * @param read makes the value of a number from the digits in the text
 * @throws SyntaxError, or RangeError if the text nests too deeply
 */
export function parseExactly(
  text: string,
  read: (source: string, value: number, holder: object, name: string) => unknown,
): unknown {
  if (!MAY_LOSE_DIGITS.test(text)) return JSON.parse(text);
  return JSON.parse(text, function (name, value, { source }) {
    return typeof value !== 'number' || source === undefined ? value : read(source, value, this, name);
  });
}
