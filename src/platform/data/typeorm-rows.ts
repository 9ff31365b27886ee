import {
  And,
  type EntityManager,
  type EntityMetadata,
  Equal,
  type FindOperator,
  In,
  IsNull,
  LessThan,
  MoreThan,
  MoreThanOrEqual,
  type ObjectLiteral,
  QueryFailedError,
  type QueryRunner,
} from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { Position, Put, Slice } from '../api/index.js';
import { type Listing, sortText } from './listing.js';
import type { Place, Rows } from './rows.js';
import { CONVERTED, UNCHANGED, withoutUndefined } from './shape.js';

/** SQLSTATE `unique_violation`. */
const UNIQUE_VIOLATION = '23505';

/** The rows of an entity by TypeORM's own methods, for entities that are more than the columns of a table. */
export class TypeOrmRows implements Rows {
  constructor(private readonly entity: EntityMetadata) {}

  find(manager: EntityManager, where: ObjectLiteral): Promise<ObjectLiteral | null> {
    return manager.findOneBy(this.entity.target, where);
  }

  add(manager: EntityManager, values: ObjectLiteral): Promise<ObjectLiteral> {
    const { target } = this.entity;
    return inTransaction(manager, async (transaction) => {
      const item = transaction.create(target, { ...values }) as ObjectLiteral;
      await transaction.insert(target, item);
      return transaction.findOneByOrFail(target, this.entity.getEntityIdMap(item)!);
    });
  }

  async addAll(manager: EntityManager, values: readonly ObjectLiteral[]): Promise<ObjectLiteral[]> {
    return inTransaction(manager, async (transaction) => {
      const added: ObjectLiteral[] = [];
      for (const one of values) added.push(await this.add(transaction, one));
      return added;
    });
  }

  unread(): undefined {}

  addUnread(manager: EntityManager, values: readonly ObjectLiteral[]): Promise<unknown> {
    return this.addAll(manager, values);
  }

  update(manager: EntityManager, which: ObjectLiteral, values: ObjectLiteral): Promise<ObjectLiteral[]> {
    const { target, columns } = this.entity;
    const isArray = (name: string) => columns.some((one) => one.propertyName === name && one.isArray);
    const sought = Object.entries(which).map(([name, value]) => [
      name,
      Array.isArray(value) && !isArray(name) ? In(value) : value,
    ]);
    return inTransaction(manager, async (transaction) => {
      const where = Object.fromEntries(sought);
      const rows = await transaction.find(target, { where, lock: this.lock });
      for (const row of rows) Object.assign(row, withoutUndefined(values));
      await transaction.save(rows);
      return Promise.all(rows.map((row) => this.stored(transaction, row)));
    });
  }

  /** By several statements, as listeners are told of each row. Those for one key wait for each other. */
  async put(
    manager: EntityManager,
    where: ObjectLiteral,
    values: ObjectLiteral,
  ): Promise<Put<ObjectLiteral> | null> {
    const attempt = () =>
      inTransaction(manager, (transaction) =>
        inTurn(transaction.queryRunner!, () => this.putIn(transaction, where, values)),
      );
    if (manager.queryRunner?.isTransactionActive) return attempt();
    return attempt().catch((error: unknown) => {
      // It may have been added in another way meanwhile.
      if (error instanceof QueryFailedError && error.driverError.code === UNIQUE_VIOLATION) return attempt();
      throw error;
    });
  }

  private async putIn(
    transaction: EntityManager,
    where: ObjectLiteral,
    values: ObjectLiteral,
  ): Promise<Put<ObjectLiteral> | null> {
    const { target, primaryColumns, tablePath } = this.entity;
    const key = Object.fromEntries(primaryColumns.map(({ propertyName: name }) => [name, where[name]]));
    const lock = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))';
    await transaction.query(lock, [`${tablePath} ${JSON.stringify(key)}`]);
    const row = await transaction.findOne(target, { where: key, lock: this.lock, withDeleted: true });
    const all = withoutUndefined({ ...values, ...where });
    if (!row) return { row: await this.add(transaction, all), isCreated: true };
    if (!(await transaction.existsBy(target, where))) return null;
    await transaction.save(Object.assign(row, all));
    return { row: await this.stored(transaction, row), isCreated: false };
  }

  async change(
    manager: EntityManager,
    where: ObjectLiteral,
    work: (row: ObjectLiteral) => unknown,
  ): Promise<ObjectLiteral | null> {
    const row = await manager.findOne(this.entity.target, { where, lock: this.lock });
    if (!row) return null;
    await work(row);
    await manager.save(row);
    return this.stored(manager, row);
  }

  async page(manager: EntityManager, list: Listing, { limit, after }: Place): Promise<Slice> {
    const { sort, isDescending } = list;
    const direction = isDescending ? 'DESC' : 'ASC';
    const order = { ...(sort === undefined ? {} : { [sort]: direction }), id: direction };
    const where = whereOf(list, after);
    const all = await manager.find(this.entity.target, { where, order, take: limit + 1 });
    const rows = all.slice(0, limit);
    return { rows, last: all.length > limit ? positionOf(rows.at(-1)!, sort) : undefined };
  }

  read(row: unknown): ObjectLiteral {
    return row as ObjectLiteral;
  }

  /** A row that was saved, as it is stored: TypeORM leaves undefined what it does not set. A removed one as it was saved. */
  private async stored(manager: EntityManager, row: ObjectLiteral): Promise<ObjectLiteral> {
    const { target } = this.entity;
    return (await manager.findOneBy(target, this.entity.getEntityIdMap(row)!)) ?? row;
  }

  /** Of the row itself: PostgreSQL cannot lock those that an eager relation joins. */
  private get lock() {
    return { mode: 'pessimistic_write' as const, tables: [this.entity.tableNameWithoutPrefix] };
  }
}

/** The conditions of a page, one of which its rows meet. */
function whereOf(list: Listing, after: Position | undefined): ObjectLiteral[] {
  const { equal, among, range, sort, isDescending } = list;
  const same = Object.fromEntries(equal.map(([name, value]) => [name, value ?? IsNull()]));
  const bounds: Record<string, FindOperator<unknown>[]> = {};
  const bound = (name: string, operator: FindOperator<unknown>) => (bounds[name] ??= []).push(operator);
  if (among) bound(among[0], In(among[1]));
  if (range?.from !== undefined) bound(sort ?? 'id', MoreThanOrEqual(range.from));
  if (range?.to !== undefined) bound(sort ?? 'id', LessThan(range.to));
  const beyond = isDescending ? LessThan : MoreThan;
  const all = (more: Record<string, FindOperator<unknown>>) => {
    const names = [...new Set([...Object.keys(bounds), ...Object.keys(more)])];
    const both = names.map((name) => [
      name,
      And(...(bounds[name] ?? []), ...(more[name] ? [more[name]] : [])),
    ]);
    return { ...same, ...Object.fromEntries(both) };
  };
  if (!after) return [all({})];
  const values = list.valuesOf(after);
  if (sort === undefined) return [all({ id: beyond(values[0]) })];
  return [all({ [sort]: beyond(values[0]) }), all({ [sort]: Equal(values[0]), id: beyond(values[1]) })];
}

/** The place of a row in a list. */
function positionOf(row: ObjectLiteral, sort: string | undefined): Position {
  const id = String(row.id);
  return sort === undefined ? { id } : { id, value: sortText(row[sort]) };
}

const turns = new WeakMap<QueryRunner, Promise<unknown>>();

/** One after the other, of what is done at once in a transaction: locks keep out others alone. */
function inTurn<T>(runner: QueryRunner, work: () => Promise<T>): Promise<T> {
  const done = (turns.get(runner) ?? Promise.resolve()).then(work);
  turns.set(
    runner,
    done.catch(() => {}),
  );
  return done;
}

function inTransaction<T>(
  manager: EntityManager,
  work: (transaction: EntityManager) => Promise<T>,
): Promise<T> {
  return manager.queryRunner?.isTransactionActive ? work(manager) : manager.transaction(work);
}

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
