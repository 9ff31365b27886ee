import { hash } from 'node:crypto';
import type { PoolClient } from 'pg';
import {
  type EntityManager,
  type EntityMetadata,
  type ObjectLiteral,
  QueryFailedError,
  type SelectQueryBuilder,
} from 'typeorm';
import { ApiError, type Cursors, type Direction, isPlainText, type Position } from '../api/index.js';
import { Connections, type Sql } from '../database/index.js';
import { isKeyOf, textOf } from './listing.js';
import type { Place } from './values.js';

/** In what order the rows of a query are: of the columns that it gives these names, then of its `id`. */
export interface Ordered {
  readonly sort: readonly string[];
  /** Of all of them, and of the id: a number is negated to go the other way. Ascending when left out. */
  readonly order?: Direction;
}

/** A row that a query has found. */
interface Found {
  readonly id: string;
  readonly position: Position;
}

/** SQLSTATEs of a value that is not of the type of a column: "data exception". */
const NO_VALUE = /^22/;
const MARK_LENGTH = 12;

/** What a query of a feature finds, in the order of columns that it computes. A page starts after the values of a row. */
export class Search implements Cursors {
  readonly mark: string;
  private readonly sql: string;
  private readonly parameters: readonly unknown[];
  private readonly columns: readonly string[];
  private readonly isDescending: boolean;

  constructor(
    private readonly entity: EntityMetadata,
    query: SelectQueryBuilder<ObjectLiteral> | Sql,
    { sort, order }: Ordered,
  ) {
    if ('sql' in query) [this.sql, this.parameters] = [query.sql, query.parameters ?? []];
    else [this.sql, this.parameters] = query.getQueryAndParameters();
    this.columns = [...sort, 'id'].map((name) => `"search".${entity.dataSource.driver.escape(name)}`);
    this.isDescending = order === 'desc';
    const { sql, parameters, columns, isDescending } = this;
    const text = JSON.stringify([sql, parameters.map(textOf), columns, isDescending]);
    this.mark = hash('sha256', text, 'base64url').slice(0, MARK_LENGTH);
  }

  isPosition({ id, value }: Position): boolean {
    return isKeyOf(this.entity, id) && this.valuesIn(value)?.length === this.columns.length - 1;
  }

  /** Finds the rows of a page and one more. @throws ApiError `invalid_cursor`, QueryFailedError */
  async find(manager: EntityManager, { limit, after }: Place): Promise<Found[]> {
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
    const rows = await run(manager, text, all).catch((error: Error & { code?: string }) => {
      // Its first page was read with the same values but these.
      if (after && NO_VALUE.test(error.code ?? ''))
        throw new ApiError('invalid_cursor', undefined, { cause: error });
      throw new QueryFailedError(text, all, error);
    });
    return rows.map((row) => this.foundIn(row));
  }

  private foundIn(row: unknown[]): Found {
    const missing = row.indexOf(null);
    if (missing >= 0)
      throw new TypeError(`A search must have a value of ${this.columns[missing]} in every row`);
    const id = row.at(-1) as string;
    return { id, position: { id, value: JSON.stringify(row.slice(0, -1)) } };
  }

  private valuesIn(value = ''): string[] | undefined {
    try {
      const values = JSON.parse(value) as unknown;
      return Array.isArray(values) && values.every(isPlainText) ? values : undefined;
    } catch {
      return undefined;
    }
  }
}

/** Runs a statement: in the transaction of a manager if it has one, else wherever lists are read from. */
async function run(manager: EntityManager, text: string, values: readonly unknown[]): Promise<unknown[][]> {
  const connections = Connections.of(manager.dataSource);
  const { queryRunner } = manager;
  // It has no name: a feature may put together any number of texts, and a plan for its words is better than one for any.
  return queryRunner
    ? connections.run((await queryRunner.connect()) as PoolClient, { text }, values)
    : connections.readList((connection) => connections.run(connection, { text }, values));
}
