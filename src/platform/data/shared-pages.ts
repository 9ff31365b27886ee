import type { EntityMetadata } from 'typeorm';
import { compareDigits } from '../api/int64.js';
import type { CompiledEntityManager } from './compiled-entity-manager.js';
import { Batcher, type BatchCounts } from '../database/batcher.js';
import { hydrate } from './plain-entity.js';
import { pagesStatement } from './read-statements.js';
import { runList } from './run.js';
import type { Statement } from './statement.js';

/** Rows in the order of their ids, shared with other requests for the same page, so they must not be changed. */
export interface Slice<Entity> {
  readonly items: readonly Entity[];
  readonly hasMore: boolean;
}

type Row = unknown[];
type Slices = Map<string, Slice<unknown>>;

/** A page that a request wants. */
export interface Wanted {
  values: Record<string, unknown>;
  limit: number;
}

/** The pages of one shape: those requested at the same time are read by one statement, equal ones once. */
export class SharedPages {
  private readonly batcher: Batcher<Wanted & { name: string }, Slices>;
  private several?: Statement;

  constructor(
    counts: BatchCounts,
    private readonly manager: CompiledEntityManager,
    private readonly entity: EntityMetadata,
    private readonly statement: Statement,
  ) {
    this.batcher = new Batcher((wanted) => this.readAll(wanted), counts);
  }

  async get({ values, limit }: Wanted): Promise<Slice<unknown>> {
    const name = JSON.stringify([limit, values]);
    return (await this.batcher.add({ name, values, limit })).get(name)!;
  }

  private async readAll(wanted: (Wanted & { name: string })[]): Promise<Slices> {
    const distinct = [...new Map(wanted.map((page) => [page.name, page])).values()];
    const rows = await this.readRows(distinct);
    return new Map(distinct.map(({ name, limit }, i) => [name, this.slice(rows[i]!, limit)]));
  }

  private async readRows(distinct: Wanted[]): Promise<Row[][]> {
    const { parameters } = this.statement;
    // SQL has no type for a list of lists.
    if (distinct.length === 1 || parameters.length === 0 || parameters.includes('ids')) {
      const all = distinct.map(({ values }) => runList(this.manager, this.statement, values));
      return (await Promise.all(all)).map(({ rows }) => rows);
    }
    const { compiler } = this.manager.dataSource;
    this.several ??= pagesStatement(compiler, this.entity, this.statement);
    const lists = parameters.map((name) => [name, distinct.map(({ values }) => values[name])]);
    const found: Row[][] = distinct.map(() => []);
    const { rows } = await runList(this.manager, this.several, Object.fromEntries(lists));
    for (const row of rows) found[Number(row.at(-1)) - 1]!.push(row);
    // Joined rows come in this order, but PostgreSQL does not guarantee it.
    const id = this.statement.columns.indexOf('id');
    return found.map((page) => page.toSorted((a, b) => compareDigits(a[id] as string, b[id] as string)));
  }

  private slice(rows: Row[], limit: number): Slice<unknown> {
    const items = rows.slice(0, limit).map((row) => hydrate(this.entity, this.statement, row));
    return { items, hasMore: rows.length > limit };
  }
}
