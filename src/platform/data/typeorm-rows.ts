import {
  And,
  type EntityManager,
  type EntityMetadata,
  In,
  IsNull,
  MoreThan,
  type ObjectLiteral,
} from 'typeorm';
import type { Slice } from '../api/paging.js';
import type { Place, Rows } from './rows.js';

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
      for (const row of rows) Object.assign(row, values);
      return transaction.save(rows);
    });
  }

  async change(
    manager: EntityManager,
    where: ObjectLiteral,
    work: (row: ObjectLiteral) => unknown,
  ): Promise<ObjectLiteral | null> {
    const row = await manager.findOne(this.entity.target, { where, lock: this.lock });
    if (!row) return null;
    await work(row);
    return manager.save(row);
  }

  async page(manager: EntityManager, filter: ObjectLiteral, { limit, after }: Place): Promise<Slice> {
    const { id, ...rest } = filter as { id?: unknown };
    const given = Object.entries(rest).filter(([, value]) => value !== undefined);
    const equal = Object.fromEntries(given.map(([name, value]) => [name, value === null ? IsNull() : value]));
    const among = id === undefined ? [] : [In([id].flat())];
    const bounds = [...among, ...(after === undefined ? [] : [MoreThan(after)])];
    const where = bounds.length > 0 ? { ...equal, id: And(...bounds) } : equal;
    const all = await manager.find(this.entity.target, { where, order: { id: 'ASC' }, take: limit + 1 });
    const rows = all.slice(0, limit);
    return { rows, last: all.length > limit ? String(rows.at(-1)!.id) : undefined };
  }

  read(row: unknown): ObjectLiteral {
    return row as ObjectLiteral;
  }

  /** Of the row itself: PostgreSQL cannot lock those that an eager relation joins. */
  private get lock() {
    return { mode: 'pessimistic_write' as const, tables: [this.entity.tableNameWithoutPrefix] };
  }
}

function inTransaction<T>(
  manager: EntityManager,
  work: (transaction: EntityManager) => Promise<T>,
): Promise<T> {
  return manager.queryRunner?.isTransactionActive ? work(manager) : manager.transaction(work);
}
