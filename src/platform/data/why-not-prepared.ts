import type { EntityMetadata } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { CONVERTED, UNCHANGED } from './shape.js';

/**
 * Why prepared statements cannot do for an entity what TypeORM does; undefined if they can. What is left then are the
 * columns of one table, and values that `shapeOf` converts as TypeORM does.
 */
export function whyNotPrepared(entity: EntityMetadata): string | undefined {
  const { embeddeds, eagerRelations, lazyRelations, listeners, inheritancePattern, treeType } = entity;
  if (typeof entity.target !== 'function') return 'it is not a class';
  if (embeddeds.length > 0) return `${embeddeds[0]!.propertyName} is embedded`;
  if (eagerRelations.length > 0) return `the relation ${eagerRelations[0]!.propertyName} is eager`;
  if (lazyRelations.length > 0) return `the relation ${lazyRelations[0]!.propertyName} is lazy`;
  if (listeners.length > 0) return `${listeners[0]!.propertyName} listens to it`;
  if (inheritancePattern ?? treeType) return 'it is part of a hierarchy';
  const subscriber = entity.dataSource.subscribers.find((one) => isTold(one.listenTo?.(), entity));
  if (subscriber) return `${subscriber.constructor.name} subscribes to it`;
  const wrong = entity.columns.map(whyNotColumn).find((reason) => reason !== undefined);
  return wrong ?? (entity.primaryColumns.length === 0 ? 'it has no primary key' : undefined);
}

function isTold(listened: Function | string | undefined, { target }: EntityMetadata): boolean {
  if (listened === undefined || listened === target) return true;
  return (
    typeof listened === 'function' && typeof target === 'function' && target.prototype instanceof listened
  );
}

function whyNotColumn(column: ColumnMetadata): string | undefined {
  const { propertyName: name, entityMetadata } = column;
  const type = entityMetadata.dataSource.driver.normalizeType(column);
  if (column.isVirtual) return `the relation ${name} has no column of its own`;
  if (column.isVirtualProperty || column.generatedType) return `the column ${name} is computed`;
  if (column.isVersion) return `the column ${name} is a version`;
  if (column.isPrimary && !column.isSelect) return `the key ${name} is kept from answers`;
  if (!column.isInsert || !column.isUpdate) return `the column ${name} is not always written`;
  return UNCHANGED.has(type) || CONVERTED.has(type) ? undefined : `the column ${name} is of type ${type}`;
}
