import { DatabaseError } from 'pg';
import { type EntityManager, QueryFailedError } from 'typeorm';
import type { ForeignKeyMetadata } from 'typeorm/metadata/ForeignKeyMetadata.js';
import { namesOf, type Row, type Shape, type ShapeColumn } from './shape.js';
import { selectMissing } from './sql.js';
import type { Statements } from './statements.js';

/** SQLSTATE `foreign_key_violation`. */
const FOREIGN_KEY_VIOLATION = '23503';
/** For so many milliseconds after a batch was refused for a reference, others are looked through before they are sent. */
const SUSPICION_MS = 1_000;

/**
 * Finds the rows of a batch that refer to rows which are not there, so that the others are inserted without them: one
 * client that sends wrong references costs the others one more statement, not one for each of its rows.
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

  /** Whether batches are to be looked through first: one was refused just now. */
  get areSuspected(): boolean {
    return performance.now() < this.suspiciousUntil;
  }

  /** Takes the refusal of a batch; returns whether looking it through can help. */
  suspect(error: unknown): boolean {
    const { code } = (error instanceof QueryFailedError ? error.driverError : {}) as { code?: string };
    if (code !== FOREIGN_KEY_VIOLATION || this.references.length === 0) return false;
    this.suspiciousUntil = performance.now() + SUSPICION_MS;
    return true;
  }

  /** The errors of those rows that PostgreSQL would refuse, by their places. */
  async find(
    manager: EntityManager,
    given: readonly ShapeColumn[],
    rows: readonly Row[],
  ): Promise<Map<number, QueryFailedError>> {
    const used = this.references.filter(({ columns }) =>
      given.includes(this.shape.column(columns[0]!.propertyName)),
    );
    if (used.length === 0) return new Map();
    const columns = used.map((one) => this.shape.column(one.columns[0]!.propertyName));
    const name = `missing references of ${namesOf(columns)}`;
    const statement = this.statements.once(name, () => selectMissing(columns, used));
    const lists = columns.map((column) => rows.map((row) => row[given.indexOf(column)]));
    const missing = await this.statements.run(manager, statement, lists);
    return new Map(missing.map(([place, which]) => [Number(place) - 1, this.errorOf(used[Number(which)]!)]));
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
