import type { EntityMetadata } from 'typeorm';

/** A name as SQL writes it. */
export function quoted(name: string, { dataSource }: EntityMetadata): string {
  return dataSource.driver.escape(name);
}

/** The table of an entity, with its schema, as SQL writes it. */
export function tableOf(entity: EntityMetadata): string {
  return entity.tablePath
    .split('.')
    .map((part) => quoted(part, entity))
    .join('.');
}
