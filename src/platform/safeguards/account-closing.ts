import { Global, Injectable, Module, type Type } from '@nestjs/common';
import type { Caller } from '../api/index.js';
import { Transactions } from '../data/index.js';

/** Maximum rows per transaction of a step, to keep transactions short. */
const BATCH = 500;

/** Ends work or erases up to `limit` rows of an account, in the open transaction. @returns the row count */
type ClosingStep = (by: Caller, limit: number) => Promise<number>;

/** Closes accounts: a feature adds a step for its own rows. */
@Injectable()
export class AccountClosing {
  private readonly steps: ClosingStep[] = [];

  constructor(private readonly transactions: Transactions) {}

  add(step: ClosingStep): void {
    this.steps.push(step);
  }

  /** Adds a step that erases an entity's rows of the account, found by an index on `accountId`. */
  erases(entity: Type<{ accountId: string }>): void {
    this.add(async ({ accountId }, limit) => {
      const { manager } = this.transactions;
      const { primaryColumns } = manager.dataSource.getMetadata(entity);
      const select = Object.fromEntries(primaryColumns.map(({ propertyName }) => [propertyName, true]));
      const rows = await manager.find(entity, {
        select,
        where: { accountId },
        withDeleted: true,
        take: limit,
      });
      await manager.remove(rows);
      return rows.length;
    });
  }

  /** Runs every step until no row of the account is left: in the open transaction, or in many short ones. */
  async run(by: Caller): Promise<void> {
    for (const step of this.steps) {
      while ((await this.transactions.run(() => step(by, BATCH))) >= BATCH);
    }
  }
}

@Global()
@Module({ providers: [AccountClosing], exports: [AccountClosing] })
export class ClosingModule {}
