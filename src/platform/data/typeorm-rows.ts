import {
  And,
  type EntityManager,
  type EntityMetadata,
  In,
  IsNull,
  MoreThan,
  type ObjectLiteral,
} from 'typeorm';
import type { Place, Rows, Slice } from './rows.js';

/** The rows of an entity by TypeORM's own methods, for entities that are more than the columns of a table. */
export class TypeOrmRows implements Rows {
  constructor(private readonly entity: EntityMetadata) {}

  find(manager: EntityManager, where: ObjectLiteral): Promise<ObjectLiteral | null> {
    return manager.findOneBy(this.entity.target, where);
  }

  async add(manager: EntityManager, values: ObjectLiteral): Promise<ObjectLiteral> {
    const { target } = this.entity;
    const item = manager.create(target, { ...values }) as ObjectLiteral;
    await manager.insert(target, item);
    return manager.findOneByOrFail(target, this.entity.getEntityIdMap(item)!);
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
    const key = this.key;
    const { [key]: id, ...rest } = filter;
    const given = Object.entries(rest).filter(([, value]) => value !== undefined);
    const equal = Object.fromEntries(given.map(([name, value]) => [name, value === null ? IsNull() : value]));
    const among = id === undefined ? [] : [In(Array.isArray(id) ? id : [id])];
    const bounds = [...among, ...(after === undefined ? [] : [MoreThan(after)])];
    const where =
      bounds.length > 0 ? { ...equal, [key]: bounds.length > 1 ? And(...bounds) : bounds[0] } : equal;
    const order = { [key]: 'ASC' as const };
    const rows = await manager.find(this.entity.target, { where, order, take: limit + 1 });
    return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
  }

  read(row: unknown): ObjectLiteral {
    return row as ObjectLiteral;
  }

  /** Of the row itself: PostgreSQL cannot lock those that an eager relation joins. */
  private get lock() {
    return { mode: 'pessimistic_write' as const, tables: [this.entity.tableNameWithoutPrefix] };
  }

  /** @throws TypeError for a table without a single key, by which its rows could be put in order */
  private get key(): string {
    const [key, ...more] = this.entity.primaryColumns;
    if (!key || more.length > 0) throw new TypeError(`${this.entity.name} has no single key to page by`);
    return key.propertyName;
  }
}

function inTransaction<T>(
  manager: EntityManager,
  work: (transaction: EntityManager) => Promise<T>,
): Promise<T> {
  return manager.queryRunner ? work(manager) : manager.transaction(work);
}
