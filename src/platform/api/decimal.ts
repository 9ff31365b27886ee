/** Numbers as they were sent, where a double is not the same; by the object or array that holds them, and its name there. */
const sources = new WeakMap<object, Map<string, string>>();
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?)0*(\d{1,3}))?$/;
/** Longer ones are no amounts: BigInt would take long to read them. */
const MAX_LENGTH = 100;

/** Remembers how a number was written, for whoever reads it from its holder. */
export function keepSource(holder: object, name: string, source: string): void {
  const kept = sources.get(holder) ?? new Map<string, string>();
  sources.set(holder, kept.set(name, source));
}

/** A JSON number as text, with every digit that was sent. A double alone holds 15 of them. */
export function numberText(value: number | bigint, holder?: object, name?: string | number): string {
  return (holder && sources.get(holder)?.get(String(name))) ?? String(value);
}

/**
 * A decimal number in units of its last decimal: `12.5` with two decimals is 1250. Exponents are as in JSON.
 * @returns undefined for anything else, and for a number with more decimals than that
 */
export function unitsOf(text: string, decimals: number): bigint | undefined {
  const [, sign, whole, fraction = '', direction = '', exponent = '0'] =
    (text.length <= MAX_LENGTH && NUMBER.exec(text)) || [];
  if (whole === undefined) return undefined;
  const digits = BigInt(whole + fraction);
  const shift = decimals - fraction.length + Number(direction + exponent);
  const [factor, divisor] = shift < 0 ? [1n, 10n ** BigInt(-shift)] : [10n ** BigInt(shift), 1n];
  if (digits % divisor !== 0n) return undefined;
  return ((sign ? -1n : 1n) * digits * factor) / divisor;
}

/** The number that `unitsOf` counted, with all its decimals: `12.50`. */
export function decimalText(units: bigint, decimals: number): string {
  const digits = String(units < 0n ? -units : units).padStart(decimals + 1, '0');
  const [whole, fraction] = [
    digits.slice(0, digits.length - decimals),
    digits.slice(digits.length - decimals),
  ];
  return `${units < 0n ? '-' : ''}${whole}${decimals > 0 ? `.${fraction}` : ''}`;
}
