import type { ObjectLiteral } from 'typeorm';

/**
 * A value as `pg` has read it, for one entity alone: a row may be shared by several, and whoever has an entity may change
 * it. An instance of a class that only its parser knows is nobody's to copy, and is the same for all.
 */
export function own(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(own);
  switch (Object.getPrototypeOf(value)) {
    case Date.prototype:
      return new Date(value as Date);
    case Buffer.prototype:
      return Buffer.from(value as Buffer);
    case Object.prototype:
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, own(one)]));
    default:
      return value;
  }
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

/** About how many bytes a value has: those of its texts and buffers, to some depth. */
export function bytesOf(value: unknown, depth = 4): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null || depth === 0) return 8;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  let bytes = 8;
  for (const one of Object.values(value)) bytes += bytesOf(one, depth - 1);
  return bytes;
}

/** About how many bytes some rows have that are like one of them. */
export function bytesOfRows(one: unknown, count: number): number {
  return count * bytesOf(one);
}
