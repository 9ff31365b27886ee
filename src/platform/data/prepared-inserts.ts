import type { EntityManager } from 'typeorm';
import type { Statement } from '../database/index.js';
import { MissingReferences } from './missing-references.js';
import { namesOf, type Row, type Shape, type ShapeColumn, valuesOf } from './shape.js';
import { insertMany, insertOne } from './sql.js';
import type { Statements } from './statements.js';
import { isLarge, isUndone, made, type Outcome, Together } from './together.js';
import { Transactions } from './transactions.js';

/** Inserts into a table; those that come at the same time outside of transactions go into one statement. */
export class PreparedInserts {
  private readonly batches = new Map<string, Together<Row, Row>>();
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
    if (given.length > 0 && !given.some(({ isArray }) => isArray)) {
      if (!manager.queryRunner) return this.batch(given).add(row);
      const calls = Transactions.of(manager.dataSource).gathered<Row, Row>(
        manager,
        this.many(given),
        (rows) => this.attempt(manager, given, rows),
      );
      if (calls) return calls.add(row);
    }
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
  private async attempt(
    manager: EntityManager,
    given: readonly ShapeColumn[],
    rows: Row[],
  ): Promise<Outcome<Row>[]> {
    const { missing } = this;
    const canLookThrough = rows.length > 1 && missing.areIn(given);
    if (!canLookThrough || !missing.areSuspected) {
      try {
        return made(await this.all(manager, given, rows));
      } catch (error) {
        // A transaction is over with it.
        if (!missing.suspect(error) || !canLookThrough || manager.queryRunner) throw error;
      }
    }
    return missing.insert(manager, given, rows);
  }

  private many(given: readonly ShapeColumn[]): Statement {
    return this.statements.once(`insert many ${namesOf(given)}`, () => insertMany(this.shape, given));
  }

  private batch(given: readonly ShapeColumn[]): Together<Row, Row> {
    const name = namesOf(given);
    let batch = this.batches.get(name);
    if (!batch) {
      const { manager } = this.shape.entity.dataSource;
      batch = new Together(this.statements.connections.writes, {
        // A large row takes its time: in a transaction it has all that its request has.
        make: ([row, ...more]) =>
          more.length === 0 && isLarge(row)
            ? Transactions.of(manager.dataSource).run(async (own) => made(await this.all(own, given, [row!])))
            : this.attempt(manager, given, [row!, ...more]),
        canRepeat: isUndone,
      });
      this.batches.set(name, batch);
    }
    return batch;
  }
}
