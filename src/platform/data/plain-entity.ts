import type { EntityMetadata, ObjectLiteral } from 'typeorm';
import type { Statement } from './statement.js';

/** Types whose values TypeORM passes on unchanged. */
const TYPES = new Set<unknown>(['bigint', 'integer', 'text', 'uuid', 'bytea', 'boolean', 'timestamptz']);

/** Whether an entity is the columns of a table and nothing else, so that its rows need no help from TypeORM. */
export function isPlain(entity: EntityMetadata): boolean {
  const { columns, embeddeds, eagerRelations, listeners, inheritancePattern, deleteDateColumn } = entity;
  if (embeddeds.length > 0 || eagerRelations.length > 0 || listeners.length > 0) return false;
  if (inheritancePattern || deleteDateColumn || typeof entity.target !== 'function') return false;
  if (entity.dataSource.subscribers.length > 0) return false;
  return columns.every(
    (column) =>
      TYPES.has(column.type) &&
      column.isSelect &&
      column.isInsert &&
      column.isUpdate &&
      !column.isArray &&
      !column.isVirtual &&
      !column.isVirtualProperty &&
      !column.isVersion &&
      !column.transformer,
  );
}

/** The properties that are set, if all of them are columns with plain values; else undefined. */
export function plainKeys(entity: EntityMetadata, values: unknown): string[] | undefined {
  if (typeof values !== 'object' || values === null || Array.isArray(values)) return undefined;
  const keys: string[] = [];
  for (const [key, value] of Object.entries(values)) {
    if (value === undefined) continue;
    if (!isScalar(value) || !entity.findColumnWithPropertyName(key)) return undefined;
    keys.push(key);
  }
  return keys;
}

/** TypeORM turns operators, functions and nested objects into SQL; only values are handled here. */
function isScalar(value: unknown): boolean {
  if (typeof value === 'object')
    return value === null || value instanceof Date || value instanceof Uint8Array;
  return typeof value !== 'function' && typeof value !== 'symbol';
}

/** A row as an instance of its entity. */
export function hydrate(
  entity: EntityMetadata,
  { columns }: Statement,
  row: readonly unknown[],
): ObjectLiteral {
  const item = new (entity.target as new () => ObjectLiteral)();
  for (let i = 0; i < columns.length; i++) item[columns[i]!] = row[i];
  return item;
}
