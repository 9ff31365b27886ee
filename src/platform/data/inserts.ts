import { DatabaseError } from 'pg';
import { type EntityManager, QueryFailedError } from 'typeorm';
import type { ForeignKeyMetadata } from 'typeorm/metadata/ForeignKeyMetadata.js';
import { Batcher, codeOf, isLarge, isUndone, made, type Outcome, type Statement } from '../database/index.js';
import { namesOf, type Row, type Shape, type ShapeColumn, type Statements, valuesOf } from './shape.js';
import { insertMany, insertOne, insertPossible } from './sql.js';
import { Transactions } from './transactions.js';

/** SQLSTATE `foreign_key_violation`. */
const FOREIGN_KEY_VIOLATION = '23503';
/** For so many milliseconds after a batch was refused for a reference, others are looked through as they are inserted. */
const SUSPICION_MS = 1_000;

/** Inserts into a table; those that come at the same time outside of transactions go into one statement. */
export class PreparedInserts {
  private readonly batches = new Map<string, Batcher<Row, Row>>();
  private readonly missing: MissingReferences;

  constructor(
    private readonly shape: Shape,
    private readonly statements: Statements,
  ) {
    this.missing = new MissingReferences(shape, statements);
  }

  /** Inserts a row with values for some columns; returns it as it is stored. */
  async one(manager: EntityManager, given: readonly ShapeColumn[], row: Row): Promise<Row> {
    // SQL has no type for a list of lists.
    const areLists = given.some(({ isArray }) => isArray);
    if (!manager.queryRunner && given.length > 0 && !areLists) return this.batch(given).add(row);
    return (await this.all(manager, given, [row]))[0]!;
  }

  /** Inserts rows by one statement; returns them as they are stored, in the same order. */
  async all(manager: EntityManager, given: readonly ShapeColumn[], rows: readonly Row[]): Promise<Row[]> {
    const { shape, statements } = this;
    const isOne = rows.length === 1;
    const statement = isOne
      ? statements.once(`insert ${namesOf(given)}`, () => insertOne(shape, given))
      : this.many(given);
    const values = isOne ? rows[0]! : valuesOf(given, rows);
    const stored = await statements.run(manager, statement, values);
    // Of a lone row, nothing is undone where none was made.
    if (stored.length === 0) throw new Error(`A trigger or a rule of ${shape.table} has left out the row`);
    return stored;
  }

  /** Inserts a batch; without the rows whose references are missing, once there have been such. */
  private async attempt(given: readonly ShapeColumn[], rows: Row[]): Promise<Outcome<Row>[]> {
    const { missing } = this;
    const { manager } = this.shape.entity.dataSource;
    const canLookThrough = rows.length > 1 && missing.areIn(given);
    if (!canLookThrough || !missing.areSuspected) {
      try {
        return made(await this.all(manager, given, rows));
      } catch (error) {
        if (!missing.suspect(error) || !canLookThrough) throw error;
      }
    }
    return missing.insert(manager, given, rows);
  }

  private many(given: readonly ShapeColumn[]): Statement {
    return this.statements.once(`insert many ${namesOf(given)}`, () => insertMany(this.shape, given));
  }

  private batch(given: readonly ShapeColumn[]): Batcher<Row, Row> {
    const name = namesOf(given);
    let batch = this.batches.get(name);
    if (!batch) {
      const { manager } = this.shape.entity.dataSource;
      const making = {
        // A large row takes its time: in a transaction it has all that its request has.
        make: ([row, ...more]: Row[]) =>
          more.length === 0 && isLarge(row)
            ? Transactions.of(manager.dataSource).run(async (own) => made(await this.all(own, given, [row!])))
            : this.attempt(given, [row!, ...more]),
        canRepeat: isUndone,
      };
      batch = new Batcher<Row, Row>(making, this.statements.connections.writes);
      this.batches.set(name, batch);
    }
    return batch;
  }
}

/**
 * Inserts the rows of a batch without those that refer to rows which are not there, by the same statement: what one client
 * sends wrong references for, the others do not wait for.
 */
class MissingReferences {
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
