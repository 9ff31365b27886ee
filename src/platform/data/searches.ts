import type { EntityManager, EntityMetadata, ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import { type Cursors, type Direction, type Position } from '../api/index.js';
import type { Connections, Sql } from '../database/index.js';
import { invalidCursor, markOf, textOf } from './listing.js';
import type { PageStart } from './values.js';

export interface SearchOrder {
  /** Names of columns that the query selects; the `id` follows. */
  readonly sort: readonly string[];
  /** Of all these columns; to reverse a single one, select its negated number. Ascending when left out. */
  readonly order?: Direction;
}

interface Found {
  readonly id: string;
  readonly position: Position;
}

/** The rows that a query of a feature finds, in the order of columns that it computes. */
export class Search implements Cursors {
  readonly mark: string;
  private readonly sql: string;
  private readonly parameters: readonly unknown[];
  private readonly columns: readonly string[];
  private readonly isDescending: boolean;

  constructor(
    entity: EntityMetadata,
    query: SelectQueryBuilder<ObjectLiteral> | Sql,
    { sort, order }: SearchOrder,
  ) {
    if ('sql' in query) [this.sql, this.parameters] = [query.sql, query.parameters ?? []];
    else [this.sql, this.parameters] = query.getQueryAndParameters();
    this.columns = [...sort, 'id'].map((name) => `"search".${entity.dataSource.driver.escape(name)}`);
    this.isDescending = order === 'desc';
    const { sql, parameters, columns, isDescending } = this;
    this.mark = markOf(JSON.stringify([sql, parameters.map(textOf), columns, isDescending]));
  }

  isPosition({ value }: Position): boolean {
    return this.valuesIn(value)?.length === this.columns.length - 1;
  }

  /** Finds the rows of a page and one more. @throws ApiError `invalid_cursor`, QueryFailedError */
  async find(
    connections: Connections,
    manager: EntityManager,
    { limit, after }: PageStart,
  ): Promise<Found[]> {
    const { sql, parameters, columns, isDescending } = this;
    const values = after ? [...this.valuesIn(after.value)!, after.id] : [];
    const places = values.map((_value, i) => `$${parameters.length + i + 1}`);
    const beyond = after
      ? ` WHERE (${columns.join(', ')}) ${isDescending ? '<' : '>'} (${places.join(', ')})`
      : '';
    const order = columns.map((column) => `${column}${isDescending ? ' DESC' : ''}`).join(', ');
    const texts = columns.map((column) => `${column}::text`).join(', ');
    const text = `SELECT ${texts} FROM (${sql}) AS "search"${beyond} ORDER BY ${order} LIMIT ${limit + 1}`;
    const all = [...parameters, ...values];
    // Without a name: a feature may send any number of texts, and their words deserve a plan of their own.
    const rows = connections.runList(manager, connections.statement(text), all);
    return (await (after ? rows.catch(invalidCursor) : rows)).map((row) => this.foundIn(row));
  }

  private foundIn(row: unknown[]): Found {
    const missing = row.indexOf(null);
    if (missing >= 0)
      throw new TypeError(`A search must have a value of ${this.columns[missing]} in every row`);
    const id = row.at(-1) as string;
    return { id, position: { id, value: JSON.stringify(row.slice(0, -1)) } };
  }

  private valuesIn(value = ''): unknown[] | undefined {
    try {
      const values = JSON.parse(value) as unknown;
      return Array.isArray(values) ? values : undefined;
    } catch {
      return undefined;
    }
  }
}
