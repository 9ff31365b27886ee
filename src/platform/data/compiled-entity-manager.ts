import {
  EntityManager,
  type EntityMetadata,
  type EntityTarget,
  type FindOptionsWhere,
  InsertResult,
  type ObjectLiteral,
  type UpdateOptions,
  UpdateResult,
} from 'typeorm';
import type { QueryDeepPartialEntity } from 'typeorm/query-builder/QueryPartialEntity.js';
import { isInt64Text } from '../api/int64.js';
import type { CompiledDataSource } from './compiled-data-source.js';
import { soughtName } from './compiler.js';
import { hydrate, plainKeys } from './plain-entity.js';
import { type PreparedQuery, sourceOf } from './prepared-query.js';
import { findAllStatement, findStatement } from './read-statements.js';
import { run } from './run.js';
import type { Statement } from './statement.js';
import { insertStatement, updateStatement } from './write-statements.js';

type Values = Record<string, unknown>;

/**
 * An entity manager that runs the operations of hot paths as prepared statements: `findOneBy`, `insert` and `update`
 * with plain values, on entities that are plain columns. They do what TypeORM's own do; the rest is left to TypeORM.
 */
export class CompiledEntityManager extends EntityManager {
  declare readonly dataSource: CompiledDataSource;

  override async findOneBy<Entity extends ObjectLiteral>(
    target: EntityTarget<Entity>,
    where: FindOptionsWhere<Entity> | FindOptionsWhere<Entity>[],
  ): Promise<Entity | null> {
    const entity = this.dataSource.getMetadata(target);
    const { compiler, reads } = this.dataSource;
    const keys = soughtKeys(entity, where);
    const values = where as Values;
    const isShared = keys && this.canShare(entity, keys, values);
    const statement = isShared
      ? findAllStatement(compiler, entity, keys[0]!)
      : keys && findStatement(compiler, entity, keys);
    if (!statement) return super.findOneBy(target, where);
    const row = isShared
      ? await reads.one(statement, values[keys[0]!] as string, this)
      : (await run(this, statement, values)).rows[0];
    return row ? (hydrate(entity, statement, row) as Entity) : null;
  }

  override async insert<Entity extends ObjectLiteral>(
    target: EntityTarget<Entity>,
    item: QueryDeepPartialEntity<Entity> | QueryDeepPartialEntity<Entity>[],
  ): Promise<InsertResult> {
    const entity = this.dataSource.getMetadata(target);
    const keys = plainKeys(entity, item);
    const { compiler, inserts } = this.dataSource;
    const statement = keys && insertStatement(compiler, entity, keys);
    if (!statement) return super.insert(target, item);
    const row = this.canGroup(entity, keys)
      ? await inserts.add(this, entity, keys, item as Values)
      : (await run(this, statement, item as Values)).rows[0]!;
    const made = named(statement, row);
    Object.assign(item, made);
    const result = new InsertResult();
    result.identifiers = [entity.getEntityIdMap(item)!];
    result.generatedMaps = [made];
    return result;
  }

  override async update<Entity extends ObjectLiteral>(
    target: EntityTarget<Entity>,
    criteria: unknown,
    changes: QueryDeepPartialEntity<Entity>,
    options?: UpdateOptions,
  ): Promise<UpdateResult> {
    const entity = this.dataSource.getMetadata(target);
    const sought = soughtKeys(entity, criteria);
    const keys = plainKeys(entity, changes);
    const isPlain = sought && keys?.length && !options;
    const statement = isPlain ? updateStatement(this.dataSource.compiler, entity, keys, sought) : undefined;
    if (!statement) return super.update(target, criteria, changes, options);
    const values: Values = { ...changes };
    for (const key of sought!) values[soughtName(key)] = (criteria as Values)[key];
    const result = new UpdateResult();
    result.affected = (await run(this, statement, values)).rowCount ?? 0;
    return result;
  }

  /** Runs a query that a feature defines itself, with the values of its parameters by their names. */
  async prepared<Entity extends ObjectLiteral>(
    target: EntityTarget<Entity>,
    query: PreparedQuery<Entity>,
    values: Values,
  ): Promise<Partial<Entity>[]> {
    const entity = this.dataSource.getMetadata(target);
    const returned = query.columns.map((column) => entity.findColumnWithPropertyName(column)!);
    const statement = this.dataSource.compiler.once(entity, query.name, () => sourceOf(query), returned);
    if (!statement) throw new TypeError(`${entity.name} is more than plain columns`);
    const { rows } = await run(this, statement, values);
    return rows.map((row) => named(statement, row) as Partial<Entity>);
  }

  /** Outside of a transaction, rows with generated ids that come at the same time are inserted by one statement. */
  private canGroup({ primaryColumns }: EntityMetadata, keys: readonly string[]): boolean {
    const [key] = primaryColumns;
    return (
      !this.queryRunner &&
      primaryColumns.length === 1 &&
      key!.isGenerated &&
      !keys.includes(key!.propertyName)
    );
  }

  /** Outside of a transaction, rows that are requested by id at the same time are found by one query. */
  private canShare(
    { primaryColumns, columns }: EntityMetadata,
    keys: readonly string[],
    values: Values,
  ): boolean {
    const [key] = keys;
    if (this.queryRunner || keys.length > 1 || primaryColumns.length > 1) return false;
    // The rows are matched to requests by the text of their first column.
    const [first] = columns;
    return first === primaryColumns[0] && first?.propertyName === key && isInt64Text(values[key!]);
  }
}

/** A row as an object with the selected properties and no others. */
function named({ columns }: Statement, row: unknown[]): ObjectLiteral {
  return Object.fromEntries(columns.map((column, i) => [column, row[i]]));
}

/** The properties that rows are looked up by, if these are plain: at least one, none null. */
function soughtKeys(entity: EntityMetadata, where: unknown): string[] | undefined {
  const keys = plainKeys(entity, where);
  const isPlain = keys && keys.length > 0 && keys.length === Object.keys(where as Values).length;
  return isPlain && keys.every((key) => (where as Values)[key] !== null) ? keys : undefined;
}
