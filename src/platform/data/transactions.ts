import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable } from '@nestjs/common';
import {
  DataSource,
  type EntityManager,
  type EntityTarget,
  type FindOptionsWhere,
  type ObjectLiteral,
} from 'typeorm';
import { ApiError, type ErrorCode } from '../api/api-error.js';
import type { CompiledEntityManager } from './compiled-entity-manager.js';
import { GroupedWrites } from './grouped-writes.js';

/**
 * The transaction that is open around the current call. Services write through it, so that their callers can put
 * several writes into one transaction.
 */
@Injectable()
export class Transactions {
  private readonly open = new AsyncLocalStorage<EntityManager>();

  constructor(private readonly database: DataSource) {}

  /** For a write of one statement: the open transaction, or none. */
  get manager(): CompiledEntityManager {
    return (this.open.getStore() ?? this.database.manager) as CompiledEntityManager;
  }

  /**
   * Batches writes of one kind: the returned function makes one write, by a statement shared with others that come at
   * the same time; inside a transaction, by one of its own.
   * @param write makes all of them or none, and returns their results in the same order
   */
  grouped<Item extends object, Result>(
    write: (items: Item[], manager: CompiledEntityManager) => Promise<Result[]>,
  ): (item: Item) => Promise<Result> {
    const root = this.database.manager as CompiledEntityManager;
    const group = new GroupedWrites<Item, Result>(root.dataSource.writeCounts, (items) => write(items, root));
    return async (item) => (this.open.getStore() ? (await write([item], this.manager))[0]! : group.add(item));
  }

  /** For several writes: runs `work` in the open transaction, or else in a new one. An error undoes all of it. */
  run<T>(work: (transaction: EntityManager) => Promise<T>): Promise<T> {
    const open = this.open.getStore();
    if (open) return work(open);
    return this.database.transaction((transaction) => this.open.run(transaction, () => work(transaction)));
  }
  /**
   * Changes one row: finds it, keeps it from any other change while `work` looks at it and sets its properties, and
   * saves those that differ. Of several changes at once, each sees what the one before has left.
   * @throws ApiError with the code `missing` where no row has these values, and whatever `work` throws
   */
  change<Entity extends ObjectLiteral>(
    target: EntityTarget<Entity>,
    where: FindOptionsWhere<Entity>,
    missing: ErrorCode,
    work: (row: Entity) => void | Promise<void>,
  ): Promise<Entity> {
    return this.run(async (transaction) => {
      const row = await transaction.findOne(target, { where, lock: { mode: 'pessimistic_write' } });
      if (!row) throw new ApiError(missing);
      await work(row);
      return transaction.save(row);
    });
  }
}
