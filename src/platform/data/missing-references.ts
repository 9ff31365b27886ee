import { DatabaseError } from 'pg';
import { type EntityManager, QueryFailedError } from 'typeorm';
import type { ForeignKeyMetadata } from 'typeorm/metadata/ForeignKeyMetadata.js';
import { codeOf } from '../database/index.js';
import { namesOf, type Row, type Shape, type ShapeColumn, valuesOf } from './shape.js';
import { insertPossible } from './sql.js';
import type { Statements } from './statements.js';
import type { Outcome } from './together.js';

/** SQLSTATE `foreign_key_violation`. */
const FOREIGN_KEY_VIOLATION = '23503';
/** For so many milliseconds after a batch was refused for a reference, others are looked through as they are inserted. */
const SUSPICION_MS = 1_000;

/**
 * Inserts the rows of a batch without those that refer to rows which are not there, by the same statement: what one client
 * sends wrong references for, the others do not wait for.
 */
export class MissingReferences {
  private readonly references: readonly ForeignKeyMetadata[];
  private suspiciousUntil = -Infinity;

  constructor(
    private readonly shape: Shape,
    private readonly statements: Statements,
  ) {
    // A reference by several columns, or to the table itself, is left to PostgreSQL.
    const { foreignKeys } = shape.entity;
    this.references = foreignKeys.filter(
      ({ columns, referencedEntityMetadata }) =>
        columns.length === 1 &&
        shape.has(columns[0]!.propertyName) &&
        referencedEntityMetadata !== shape.entity,
    );
  }

  /** Whether batches are to be inserted in this way: one was refused just now. */
  get areSuspected(): boolean {
    return performance.now() < this.suspiciousUntil;
  }

  /** Whether rows with values for these columns can have such references. */
  areIn(given: readonly ShapeColumn[]): boolean {
    return this.among(given).length > 0;
  }

  /** Takes the refusal of a batch; returns whether looking it through can help. */
  suspect(error: unknown): boolean {
    if (codeOf(error) !== FOREIGN_KEY_VIOLATION) return false;
    this.suspiciousUntil = performance.now() + SUSPICION_MS;
    return true;
  }

  /** Inserts the rows of a batch that PostgreSQL takes; the others have the error that it would have thrown. */
  async insert(
    manager: EntityManager,
    given: readonly ShapeColumn[],
    rows: readonly Row[],
  ): Promise<Outcome<Row>[]> {
    const { shape, statements } = this;
    const used = this.among(given);
    const name = `insert possible ${namesOf(given)}`;
    const statement = statements.once(name, () => insertPossible(shape, given, used));
    const answer = await statements.run(manager, statement, valuesOf(given, rows));
    const left = answer.filter(([place]) => place !== null);
    const errors = new Map(left.map(([place, which]) => [Number(place), this.errorOf(used[Number(which)]!)]));
    const stored = answer.values();
    return rows.map((_row, i) => {
      const reason = errors.get(i + 1);
      return reason
        ? { status: 'rejected', reason }
        : { status: 'fulfilled', value: stored.next().value!.slice(2) };
    });
  }

  private among(given: readonly ShapeColumn[]): ForeignKeyMetadata[] {
    return this.references.filter(({ columns }) =>
      given.includes(this.shape.column(columns[0]!.propertyName)),
    );
  }

  /** The error that PostgreSQL itself would have thrown. */
  private errorOf({ name }: ForeignKeyMetadata): QueryFailedError {
    const { tableName } = this.shape.entity;
    const message = `insert or update on table "${tableName}" violates foreign key constraint "${name}"`;
    const cause = Object.assign(new DatabaseError(message, message.length, 'error'), {
      severity: 'ERROR',
      code: FOREIGN_KEY_VIOLATION,
      table: tableName,
      constraint: name,
    });
    return new QueryFailedError(`INSERT INTO ${this.shape.table}`, [], cause);
  }
}
