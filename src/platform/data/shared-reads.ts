import type { EntityMetadata } from 'typeorm';
import { Batcher, type BatchCounts } from '../database/batcher.js';
import type { CompiledEntityManager } from './compiled-entity-manager.js';
import { run } from './run.js';
import { SharedPages, type Slice, type Wanted } from './shared-pages.js';
import type { Statement } from './statement.js';

type Row = unknown[];

/** Reads outside of transactions; those that come at the same time are answered together. */
export class SharedReads {
  readonly counts: BatchCounts = { asked: 0, sent: 0 };
  private readonly lists = new Map<Statement, Batcher<string, Map<unknown, Row>>>();
  private readonly pages = new Map<Statement, SharedPages>();

  /** The row with `value` in its first column. `statement` finds the rows for a list of such values. */
  async one(statement: Statement, value: string, manager: CompiledEntityManager): Promise<Row | undefined> {
    let batcher = this.lists.get(statement);
    if (!batcher) {
      batcher = new Batcher(async (values) => {
        const { rows } = await run(manager, statement, { [statement.parameters[0]!]: values });
        return new Map(rows.map((row) => [row[0], row]));
      }, this.counts);
      this.lists.set(statement, batcher);
    }
    return (await batcher.add(value)).get(value);
  }

  /** One page; `statement` reads it. */
  page(
    manager: CompiledEntityManager,
    entity: EntityMetadata,
    statement: Statement,
    wanted: Wanted,
  ): Promise<Slice<unknown>> {
    let pages = this.pages.get(statement);
    if (!pages) this.pages.set(statement, (pages = new SharedPages(this.counts, manager, entity, statement)));
    return pages.get(wanted);
  }
}
