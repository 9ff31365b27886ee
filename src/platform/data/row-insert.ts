import type { ObjectLiteral } from 'typeorm';
import { namesOf, type Row, type Shape, type ShapeColumn, type Statements } from './shape.js';
import { insertFrom } from './sql.js';

/** Carries out the INSERT of a row as a part of a larger statement. @throws Unfit if that cannot be written */
export type CarryOut = (insert: RowInsert) => Promise<Row>;

/** That a row cannot be inserted by a part of a larger statement. Nothing was done. */
export class Unfit extends Error {}

/** Types whose values are written in JSON as in SQL. */
const WHOLE = new Set(['bigint', 'integer', 'smallint']);
const TIMES = new Set(['timestamptz', 'timestamp with time zone']);

/** The INSERT of one row, for whoever makes it a part of a larger statement. */
export class RowInsert {
  /** Names the table and its columns that have values, by which statements are told apart. */
  readonly name: string;

  /**
   * @param values those of the properties, of which the columns `given` are inserted
   * @param parameters the same as they are sent: `$1` and so on
   */
  constructor(
    private readonly shape: Shape,
    private readonly statements: Statements,
    private readonly given: readonly ShapeColumn[],
    readonly values: ObjectLiteral,
    readonly parameters: Row,
  ) {
    this.name = `${shape.table} ${namesOf(given)}`;
  }

  /** The query that inserts the row for each row of another query, and returns it as it is stored. */
  text(gate: string): string {
    return insertFrom(this.shape, this.given, gate);
  }

  /** How a column is written in SQL. */
  column(property: string): string {
    return this.shape.column(property).sql;
  }

  /** Which of some properties the table itself assigns. @throws Unfit for one that is no column */
  assigned(properties: readonly string[]): string[] {
    const { shape, given } = this;
    return properties.filter((property) => {
      if (!shape.has(property)) throw new Unfit(`${property} is no column`);
      const column = shape.column(property);
      return shape.selected.includes(column) && !given.includes(column);
    });
  }

  /** SQL of the JSON of a value that the table assigns. @throws Unfit for a type of column whose JSON is not known */
  json(property: string): string {
    const { sql, type, isArray } = this.shape.column(property);
    const { isNullable, precision } = this.shape.entity.findColumnWithPropertyName(property)!;
    if (!isArray && !isNullable) {
      if (WHOLE.has(type)) return `${sql}::text`;
      if (type === 'uuid') return `'"' || ${sql} || '"'`;
      if (TIMES.has(type) && precision === 3)
        return `'"' || to_char(${sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"'`;
    }
    throw new Unfit(`${property} has a JSON of its own`);
  }

  /** Runs a statement outside of transactions. @param name tells it from the table's others */
  async run(name: string, write: () => string, parameters: Row): Promise<Row | undefined> {
    const { shape, statements } = this;
    const { manager } = shape.entity.dataSource;
    return (await statements.run(manager, statements.once(name, write), parameters))[0];
  }
}
