import type { EntityManager, EntityMetadata, ObjectLiteral, QueryBuilder } from 'typeorm';
import { isPlain } from './plain-entity.js';
import type { Statement } from './statement.js';

/** Distinguishes the values that an update searches by from those that it sets. */
const SOUGHT = 'sought_';

/** The parameter for the value that an update searches by. */
export function soughtName(key: string): string {
  return SOUGHT + key;
}

/** What a statement is built from: a TypeORM query builder, or SQL with the names of its parameters. */
export type Source = QueryBuilder<ObjectLiteral> | { text: string; parameters: readonly string[] };

/**
 * Keeps the statements of each entity, each built once by TypeORM's query builder: the entities stay the only place
 * that names tables and columns. Built on every call, as TypeORM does, a get by id took 166 µs of CPU time; kept, 65.
 */
export class Compiler {
  private readonly statements = new Map<EntityMetadata, Map<string, Statement>>();
  private count = 0;

  /** @param manager creates query builders */
  constructor(readonly manager: EntityManager) {}

  /**
   * The statement under a name that distinguishes it from the entity's others, built on first use.
   * @param returned the columns of its rows
   * @returns undefined for an entity that is more than plain columns
   */
  once(
    entity: EntityMetadata,
    shape: string,
    build: () => Source,
    returned = entity.columns,
  ): Statement | undefined {
    let statements = this.statements.get(entity);
    if (!statements) this.statements.set(entity, (statements = new Map()));
    let statement = statements.get(shape);
    if (!statement && isPlain(entity)) {
      statement = {
        name: `${entity.tableName}_${++this.count}`,
        ...textOf(entity, build()),
        columns: returned.map(({ propertyName }) => propertyName),
      };
      statements.set(shape, statement);
    }
    return statement;
  }
}

/** Parameters whose values are their own names. */
export function byTheirNames(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, name]));
}

/** Gives each parameter its own name as value, so the builder returns the names in the order of the placeholders. */
function textOf(entity: EntityMetadata, source: Source): { text: string; parameters: readonly string[] } {
  if ('text' in source) return source;
  const names = entity.columns.flatMap(({ propertyName }) => [propertyName, soughtName(propertyName)]);
  source.setParameters(byTheirNames([...names, 'ids']));
  const [text, parameters] = source.getQueryAndParameters();
  return { text, parameters: parameters as string[] };
}
