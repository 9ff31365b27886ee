import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';

/**
 * The transaction that is open around the present call. Services write through it, so that whoever calls them can
 * put several writes into one transaction.
 */
@Injectable()
export class Transactions {
  private readonly open = new AsyncLocalStorage<EntityManager>();

  constructor(private readonly database: DataSource) {}

  /** For a write of one statement: the open transaction, or else none. */
  get manager(): EntityManager {
    return this.open.getStore() ?? this.database.manager;
  }

  /** For more than one: runs `work` in the open transaction, or else in one of its own. An error undoes all of it. */
  run<T>(work: (transaction: EntityManager) => Promise<T>): Promise<T> {
    const open = this.open.getStore();
    if (open) return work(open);
    return this.database.transaction((transaction) => this.open.run(transaction, () => work(transaction)));
  }
}
