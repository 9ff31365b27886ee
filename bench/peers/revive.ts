/** A reviver for `JSON.parse` that keeps every digit of an integer: one beyond 2^53 − 1 becomes a bigint. */
export function reviveInt64(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  return context?.source && /^-?\d+$/.test(context.source) ? BigInt(context.source) : value;
}
