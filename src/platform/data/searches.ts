import type { EntityManager, ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import type { Cursors, Direction, Position, Slice } from '../api/index.js';
import type { Connections, Sql } from '../database/index.js';
import { invalidCursor, markOf, requirePages, textOf } from './listing.js';
import { quoted, type Shape } from './shape.js';
import { select } from './sql.js';
import type { PageStart } from './values.js';

export interface SearchOrder {
  /** Names of the query's columns to sort by; rows with equal values are sorted by `id`. */
  readonly sort: readonly string[];
  /** The direction of all sort columns, by default ascending; to reverse one, select its negated number. */
  readonly order?: Direction;
}

/** The rows that a feature's query finds, ordered by columns that the query computes. */
export class Search implements Cursors {
  readonly mark: string;
  private readonly sql: string;
  private readonly parameters: readonly unknown[];
  private readonly columns: readonly string[];
  private readonly isDescending: boolean;

  /** @throws TypeError for an entity whose lists have no pages */
  constructor(
    private readonly shape: Shape,
    query: SelectQueryBuilder<ObjectLiteral> | Sql,
    { sort, order }: SearchOrder,
  ) {
    requirePages(shape);
    if ('sql' in query) [this.sql, this.parameters] = [query.sql, query.parameters ?? []];
    else [this.sql, this.parameters] = query.getQueryAndParameters();
    this.columns = [...sort, 'id'].map((name) => `"search".${quoted(name, shape.entity)}`);
    this.isDescending = order === 'desc';
    const { sql, parameters, columns, isDescending } = this;
    this.mark = markOf(JSON.stringify([sql, parameters.map(textOf), columns, isDescending]));
  }

  isPosition({ value }: Position): boolean {
    return this.valuesIn(value)?.length === this.columns.length - 1;
  }

  /** Reads the rows of a page. @throws ApiError `invalid_cursor`, QueryFailedError */
  async read(connections: Connections, manager: EntityManager, { limit, after }: PageStart): Promise<Slice> {
    const { parameters, columns } = this;
    const values = after ? [...this.valuesIn(after.value)!, after.id] : [];
    // Not prepared: a feature may send any number of SQL texts, and each set of values should get its own plan.
    const statement = connections.statement(this.write(values.length, limit));
    const read = connections.runList(manager, statement, [...parameters, ...values]);
    const found = await (after ? read.catch(invalidCursor) : read);
    const positions = found.slice(0, limit).map((row) => this.positionIn(row.slice(0, columns.length)));
    const rows = found.slice(0, limit).map((row) => row.slice(columns.length));
    const key = this.shape.selected.indexOf(this.shape.keys[0]!);
    return {
      // Drops rows that the join did not find: the table lacks them, or they are soft-deleted.
      rows: rows.filter((row) => row[key] !== null),
      last: found.length > limit ? positions.at(-1) : undefined,
    };
  }

  /** SQL that selects the sort values as texts, then the row's columns, for a page and one more row. */
  private write(count: number, limit: number): string {
    const { sql, parameters, shape, columns, isDescending } = this;
    const places = Array.from({ length: count }, (_value, i) => `$${parameters.length + i + 1}`).join(', ');
    const beyond = count > 0 ? ` WHERE (${columns.join(', ')}) ${isDescending ? '<' : '>'} (${places})` : '';
    const order = `ORDER BY ${columns.map((column) => `${column}${isDescending ? ' DESC' : ''}`).join(', ')}`;
    const page = `SELECT * FROM (${sql}) AS "search"${beyond} ${order} LIMIT ${limit + 1}`;
    const texts = columns.map((column) => `${column}::text`).join(', ');
    const [key] = shape.keys;
    const joined = `LEFT JOIN (${select(shape, [])}) AS "row" ON "row".${key!.sql} = CAST("search"."id" AS ${key!.type})`;
    return `SELECT ${texts}, "row".* FROM (${page}) AS "search" ${joined} ${order}`;
  }

  private positionIn(values: readonly unknown[]): Position {
    const missing = values.indexOf(null);
    if (missing >= 0)
      throw new TypeError(`A search must return a value of ${this.columns[missing]} in every row`);
    return { id: values.at(-1) as string, value: JSON.stringify(values.slice(0, -1)) };
  }

  private valuesIn(value = ''): string[] | undefined {
    try {
      const values = JSON.parse(value) as unknown;
      return Array.isArray(values) && values.every((one) => typeof one === 'string') ? values : undefined;
    } catch {
      return undefined;
    }
  }
}
