import type { EntityMetadata } from 'typeorm';
import { compareDigits } from '../api/int64.js';
import type { CompiledEntityManager } from './compiled-entity-manager.js';
import { GroupedWrites } from './grouped-writes.js';
import type { BatchCounts } from '../database/batcher.js';
import { run } from './run.js';
import type { Statement } from './statement.js';
import { insertAllStatement, insertStatement } from './write-statements.js';

type Row = unknown[];
type Values = Record<string, unknown>;

/** Inserts outside of transactions: those into one table that come at the same time go into one statement. */
export class GroupedInserts {
  private readonly groups = new Map<Statement, GroupedWrites<Values, Row>>();

  constructor(private readonly counts: BatchCounts) {}

  /**
   * Inserts a row into a table with generated ids; resolves to the values that the table has set.
   * @param keys the properties that have values
   */
  add(
    manager: CompiledEntityManager,
    entity: EntityMetadata,
    keys: readonly string[],
    values: Values,
  ): Promise<Row> {
    const { compiler } = manager.dataSource;
    const one = insertStatement(compiler, entity, keys)!;
    let group = this.groups.get(one);
    if (!group) {
      const all = insertAllStatement(compiler, entity, keys)!;
      const number = one.columns.indexOf(entity.primaryColumns[0]!.propertyName);
      group = new GroupedWrites<Values, Row>(this.counts, async (items) => {
        if (items.length === 1) return (await run(manager, one, items[0]!)).rows;
        const lists = keys.map((key) => [key, items.map((item) => item[key])]);
        const { rows } = await run(manager, all, Object.fromEntries(lists));
        return rows.toSorted((a, b) => compareDigits(a[number] as string, b[number] as string));
      });
      this.groups.set(one, group);
    }
    return group.add({ ...values });
  }
}
