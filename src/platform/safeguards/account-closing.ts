import { Global, Injectable, Module, type Type } from '@nestjs/common';
import type { Caller } from '../api/index.js';
import { Transactions } from '../data/index.js';

/** Rows that a step takes at a time, so that none of its transactions is long. */
const BATCH = 500;

/**
 * Ends, in the open transaction, what an account has begun, or erases what it has stored: at most `limit` rows of it.
 * @returns how many they were
 */
type ClosingStep = (by: Caller, limit: number) => Promise<number>;

/** What becomes of all that an account has when it is closed. A feature adds a step for its own rows. */
@Injectable()
export class AccountClosing {
  private readonly steps: ClosingStep[] = [];

  constructor(private readonly transactions: Transactions) {}

  add(step: ClosingStep): void {
    this.steps.push(step);
  }

  /** Has the rows that an account has of an entity erased. They are found by an index on `accountId`. */
  erases(entity: Type<{ accountId: string }>): void {
    this.add(async ({ accountId }, limit) => {
      const { manager } = this.transactions;
      const { primaryColumns } = manager.dataSource.getMetadata(entity);
      const select = Object.fromEntries(primaryColumns.map(({ propertyName }) => [propertyName, true]));
      const rows = await manager.find(entity, { select, where: { accountId }, take: limit });
      await manager.remove(rows);
      return rows.length;
    });
  }

  /** Takes every step for an account until nothing is left; in the open transaction, or in many short ones. */
  async run(by: Caller): Promise<void> {
    for (const step of this.steps) {
      while ((await this.transactions.run(() => step(by, BATCH))) >= BATCH);
    }
  }
}

/** Gives every module the closing of accounts. */
@Global()
@Module({ providers: [AccountClosing], exports: [AccountClosing] })
export class ClosingModule {}
