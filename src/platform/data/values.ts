import type { ObjectLiteral } from 'typeorm';

/** A value that no other entity has: a row may be shared by several, and whoever has an entity may change it. */
export function own(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return new Date(value);
  return Buffer.isBuffer(value) ? Buffer.from(value) : structuredClone(value);
}

/** The properties that have values. */
export function withoutUndefined(values: ObjectLiteral): ObjectLiteral {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** @throws TypeError where a value to look for is missing, or all are: that would find any row */
export function requireValues(where: ObjectLiteral): void {
  const names = Object.keys(where);
  const missing = names.find((name) => where[name] === undefined || where[name] === null);
  if (missing !== undefined || names.length === 0)
    throw new TypeError(`No value to look for: ${missing ?? 'none'}`);
}

/** A value as text that no other value of its column has. */
export function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : `${value as string | number | bigint | boolean}`;
}
