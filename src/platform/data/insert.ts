import type { ObjectLiteral } from 'typeorm';
import { Deferred } from '../api/index.js';
import type { FastRepository } from './fast-repository.js';
import type { Row } from '../database/index.js';
import { namesOf, type Shape, written } from './shape.js';
import { insertFrom, insertRows, lock, namesIn, type Parameter, update } from './sql.js';
import type { Values, Where } from './values.js';

export interface Part {
  /** Parts with the same name have the same SQL. */
  readonly name: string;
  readonly values: readonly unknown[];
  /** SQL that returns exactly one row. */
  readonly text: (parameter: Parameter) => string;
}

/** An update of one row, for `Insert.requiring`: without that row, nothing is inserted. */
export interface Requirement extends Part {
  /** Throws the error for a row that is missing, or has other values. */
  readonly otherwise: () => Promise<never>;
}

/** A command that refers to the new row, under the name `made` in the command's SQL. */
export interface Belonging {
  readonly of: (made: Shape) => Part;
}

/**
 * An update of one row, for `Insert.requiring`.
 * @param where the key of the row, and the values that it must still have
 * @param otherwise throws the error for a row that is missing, or has other values
 */
export function setting<Entity extends ObjectLiteral>(
  rows: FastRepository<Entity>,
  where: Where<Entity>,
  values: Values<Entity>,
  otherwise: () => Promise<never>,
): Requirement {
  const { shape } = rows;
  const [set, by] = [shape.given(values), shape.columnsWithKey(where)];
  return {
    name: `set ${shape.table} ${namesOf(set)} by ${namesOf(by)}`,
    values: [...written(set, values), ...written(by, where)],
    text: (parameter) =>
      set.length > 0 ? `${update(shape, set, by, parameter)} RETURNING 1` : lock(shape, by, parameter),
    otherwise,
  };
}

/** A row that belongs to a new row. @param fromRow properties of the new row to copy, by property of this row */
export function belonging<Entity extends ObjectLiteral>(
  rows: FastRepository<Entity>,
  values: Values<Entity>,
  fromRow: { readonly [Key in keyof Entity]?: string } = {},
): Belonging {
  const { shape } = rows;
  const all = shape.withInitial(values);
  const own = shape.given(all);
  const copied = Object.entries(fromRow) as [string, string][];
  const columns = [...own, ...copied.map(([property]) => shape.column(property))];
  return {
    of: (made) => ({
      name: `add ${shape.table} ${namesOf(own)} ${JSON.stringify(copied)}`,
      values: written(own, all),
      text: (parameter) => {
        const sql = [
          ...own.map((_column, i) => parameter(i)),
          ...copied.map(([, property]) => namesIn('made', [made.column(property)])),
        ];
        return `${insertFrom(shape, columns, sql, ' FROM made')} RETURNING 1`;
      },
    }),
  };
}

/**
 * A new row and the rows that belong to it, as one statement: PostgreSQL inserts all or none. An `Insert` is
 * a value: nothing is sent before `run`. If a controller method returns an `Insert`, the service runs it;
 * with an `Idempotency-Key`, the same statement stores the key and the answer (`Idempotent`).
 */
export class Insert<Entity extends ObjectLiteral> extends Deferred<Entity> {
  private requirement?: Requirement;
  private readonly belongings: Belonging[] = [];
  private readonly refusals: ((error: unknown) => never)[] = [];

  constructor(
    readonly rows: FastRepository<Entity>,
    private readonly values: Values<Entity>,
  ) {
    super();
  }

  /** Requires an update of another row. @throws Error for a second update: one of two could succeed alone */
  requiring(required: Requirement): this {
    if (this.requirement)
      throw new Error('An insert can have only one requirement: use a transaction for more');
    this.requirement = required;
    return this;
  }

  /** Adds rows that belong to the new row. */
  with(...belongings: readonly Belonging[]): this {
    this.belongings.push(...belongings);
    return this;
  }

  /** Turns violations into API errors (`violation`). */
  refusing(...violations: readonly ((error: unknown) => never)[]): this {
    this.refusals.push(...violations);
    return this;
  }

  /**
   * Inserts the row, in the open transaction or by a statement of its own.
   * @param more further rows that belong to the new row
   * @returns the row as it is stored
   * @throws ApiError of the requirement or of a violation; QueryFailedError otherwise; then nothing is inserted
   */
  async run(...more: readonly Belonging[]): Promise<Entity> {
    const { rows, requirement } = this;
    const [row] = await this.refusals.reduce<Promise<Row[]>>(
      (sent, refusal) => sent.catch(refusal),
      this.send([...this.belongings, ...more]),
    );
    if (row) return rows.shape.hydrate(row) as Entity;
    if (requirement) return requirement.otherwise();
    throw new Error(`A trigger or a rule of ${rows.shape.table} has skipped the row`);
  }

  private send(belongings: readonly Belonging[]): Promise<Row[]> {
    const { rows, requirement } = this;
    const { shape } = rows;
    const all = shape.withInitial(this.values);
    const given = shape.given(all);
    const own = written(given, all);
    if (!requirement && belongings.length === 0)
      return rows.send(`insert ${namesOf(given)}`, () => insertRows(shape, [given]), own);
    const made: Part = {
      name: namesOf(given),
      values: own,
      text: (parameter) => {
        const values = given.map((_column, i) => parameter(i));
        const from = requirement ? ' FROM required' : '';
        return `${insertFrom(shape, given, values, from)} RETURNING ${namesIn(shape.table, shape.selected)}`;
      },
    };
    const parts = [...(requirement ? [requirement] : []), made, ...belongings.map((part) => part.of(shape))];
    return rows.send(
      `insert ${parts.map(({ name }) => name).join(' with ')}`,
      () => textOf(shape, parts, requirement !== undefined),
      parts.flatMap(({ values }) => values),
    );
  }
}

/** An `Insert` of a new row. */
export function insert<Entity extends ObjectLiteral>(
  rows: FastRepository<Entity>,
  values: Values<Entity>,
): Insert<Entity> {
  return new Insert(rows, values);
}

/**
 * One statement of several commands; its result is the new row, or no row if the requirement failed. If a trigger
 * skips the row of a command, the statement divides by zero, and PostgreSQL undoes all commands.
 */
function textOf(shape: Shape, parts: readonly Part[], isRequired: boolean): string {
  const known = isRequired ? ['required', 'made'] : ['made'];
  const names = parts.map((_part, i) => known[i] ?? `belonging_${i}`);
  let first = 1;
  const commands = parts.map(({ values, text }, i) => {
    const from = first;
    first += values.length;
    return `${names[i]} AS (${text((place) => `$${from + place}`)})`;
  });
  const checks = names.map((name) => `1 / (SELECT count(*) FROM ${name})`);
  return `WITH ${commands.join(', ')} SELECT ${[namesIn('made', shape.selected), ...checks].join(', ')} FROM ${isRequired ? 'required' : '(SELECT) AS required'} LEFT JOIN made ON true`;
}
