import type { EntityManager, EntityMetadata, ObjectLiteral, QueryBuilder, SelectQueryBuilder } from 'typeorm';
import { isPlain } from './plain-entity.js';
import type { Statement } from './statement.js';

/** Name of the table in a query. */
const ROW = 'row';
/** Tells what an update looks for from what it sets. */
const SOUGHT = 'sought_';

/**
 * Makes each statement once, with TypeORM's query builder: the entities stay the one place that names tables and
 * columns. To build a query costs TypeORM 60 to 150 µs a call; to find one that is made costs less than 1.
 */
export class Compiler {
  private readonly statements = new Map<EntityMetadata, Map<string, Statement>>();
  private count = 0;

  constructor(private readonly manager: EntityManager) {}

  /** One row by the values of some properties. */
  find(entity: EntityMetadata, keys: readonly string[]): Statement | undefined {
    return this.once(entity, `find by ${keys.join()}`, () => {
      const query = this.select(entity).limit(1);
      for (const key of keys) query.andWhere(`${ROW}.${key} = :${key}`);
      return query;
    });
  }

  /** The rows whose `key` is in a list. */
  findAll(entity: EntityMetadata, key: string): Statement | undefined {
    return this.once(entity, `find all by ${key}`, () =>
      this.select(entity).where(`${ROW}.${key} = ANY(:${key})`),
    );
  }

  /**
   * One page of the rows with some values, in the order of their ids. The rows are bounded from both sides and ordered
   * by all of the keys, so that only the index on these keys and the id answers without a sort. Of `key = value` the
   * planner may make a walk along the whole primary key, in search of a value that is rare.
   */
  page(
    entity: EntityMetadata,
    keys: readonly string[],
    size: number,
    isFirst: boolean,
  ): Statement | undefined {
    return this.once(entity, `page of ${size} by ${keys.join()}${isFirst ? '' : ' after id'}`, () => {
      const query = this.select(entity).limit(size);
      const start = isFirst ? keys : [...keys, 'id'];
      if (start.length > 0) query.where(`${columns(start)} ${isFirst ? '>=' : '>'} ${placeholders(start)}`);
      if (keys.length > 0) query.andWhere(`${columns(keys)} <= ${placeholders(keys)}`);
      for (const key of [...keys, 'id']) query.addOrderBy(`${ROW}.${key}`);
      return query;
    });
  }

  /** One page of the rows whose ids are in a list `ids`; these are few, so they are filtered and sorted as they come. */
  pageOfIds(
    entity: EntityMetadata,
    keys: readonly string[],
    size: number,
    isFirst: boolean,
  ): Statement | undefined {
    return this.once(entity, `page of ${size} of ids by ${keys.join()}${isFirst ? '' : ' after id'}`, () => {
      const query = this.select(entity).where(`${ROW}.id = ANY(:ids)`).orderBy(`${ROW}.id`).limit(size);
      for (const key of keys) query.andWhere(`${ROW}.${key} = :${key}`);
      return isFirst ? query : query.andWhere(`${ROW}.id > :id`);
    });
  }

  /** One new row with values for `keys`; it comes back with what the table makes itself. */
  insert(entity: EntityMetadata, keys: readonly string[]): Statement | undefined {
    const made = entity.columns.filter(
      ({ propertyName, isGenerated, default: value }) =>
        !keys.includes(propertyName) && (isGenerated || value !== undefined),
    );
    const build = () =>
      this.manager
        .createQueryBuilder()
        .insert()
        .into(entity.target)
        .values(assignments(keys))
        .returning(made.map(({ propertyName }) => propertyName));
    return this.once(entity, `insert ${keys.join()}`, build, made);
  }

  /** Sets `keys` where the properties `sought` have the values of the parameters that `soughtName` names. */
  update(entity: EntityMetadata, keys: readonly string[], sought: readonly string[]): Statement | undefined {
    return this.once(entity, `update ${keys.join()} by ${sought.join()}`, () => {
      const query = this.manager.createQueryBuilder().update(entity.target).set(assignments(keys));
      for (const key of sought) {
        const column = entity.findColumnWithPropertyName(key)!.databaseName;
        query.andWhere(`"${column}" = :${soughtName(key)}`);
      }
      return query;
    });
  }

  private select(entity: EntityMetadata): SelectQueryBuilder<ObjectLiteral> {
    return this.manager.createQueryBuilder(entity.target, ROW);
  }

  private once(
    entity: EntityMetadata,
    shape: string,
    build: () => QueryBuilder<ObjectLiteral>,
    returned = entity.columns,
  ): Statement | undefined {
    let statements = this.statements.get(entity);
    if (!statements) this.statements.set(entity, (statements = new Map()));
    let statement = statements.get(shape);
    if (!statement && isPlain(entity)) {
      statement = this.compile(
        entity,
        build(),
        returned.map(({ propertyName }) => propertyName),
      );
      statements.set(shape, statement);
    }
    return statement;
  }

  /** Gives each parameter its own name as its value: so the builder tells in which order it placed them. */
  private compile(entity: EntityMetadata, query: QueryBuilder<ObjectLiteral>, columns: string[]): Statement {
    const names = entity.columns.flatMap(({ propertyName }) => [propertyName, soughtName(propertyName)]);
    query.setParameters(Object.fromEntries([...names, 'ids'].map((name) => [name, name])));
    const [text, parameters] = query.getQueryAndParameters();
    return { name: `${entity.tableName}_${++this.count}`, text, parameters: parameters as string[], columns };
  }
}

/** The parameter of an update that holds the value by which a row is looked for. */
export function soughtName(key: string): string {
  return SOUGHT + key;
}

const columns = (keys: readonly string[]) => `(${keys.map((key) => `${ROW}.${key}`).join(', ')})`;
const placeholders = (keys: readonly string[]) => `(${keys.map((key) => `:${key}`).join(', ')})`;
const assignments = (keys: readonly string[]) =>
  Object.fromEntries(keys.map((key) => [key, () => `:${key}`]));
