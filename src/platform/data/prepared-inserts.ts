import type { EntityManager } from 'typeorm';
import { Together, made, type Outcome } from './together.js';
import { MissingReferences } from './missing-references.js';
import { namesOf, type Row, type Shape, type ShapeColumn } from './shape.js';
import { insertMany, insertOne } from './sql.js';
import type { Statements } from './statements.js';

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
    const canBatch = !manager.queryRunner && given.length > 0 && !given.some(({ isArray }) => isArray);
    return canBatch ? this.batch(given).add(row) : (await this.all(manager, given, [row]))[0]!;
  }

  /** Inserts rows by one statement; returns them as they are stored, in the same order. */
  async all(manager: EntityManager, given: readonly ShapeColumn[], rows: readonly Row[]): Promise<Row[]> {
    const { shape, statements } = this;
    const isOne = rows.length === 1;
    const statement = isOne
      ? statements.once(`insert ${namesOf(given)}`, () => insertOne(shape, given))
      : statements.once(`insert many ${namesOf(given)}`, () => insertMany(shape, given));
    const lists = isOne ? rows[0]! : given.map((_column, i) => rows.map((row) => row[i]));
    const stored = await statements.run(manager, statement, lists);
    // A trigger or a rule of the table has left some out, and nothing tells which.
    if (stored.length !== rows.length) throw new Error(`${shape.table} has not taken every row`);
    return stored;
  }

  /** Inserts a batch; without the rows whose references are missing, once there have been such. */
  private async attempt(
    manager: EntityManager,
    given: readonly ShapeColumn[],
    rows: Row[],
  ): Promise<Outcome<Row>[]> {
    const { missing } = this;
    if (rows.length === 1) return made(await this.all(manager, given, rows));
    if (!missing.areSuspected) {
      try {
        return made(await this.all(manager, given, rows));
      } catch (error) {
        if (!missing.suspect(error)) throw error;
      }
    }
    const errors = await missing.find(manager, given, rows);
    const others = rows.filter((_row, i) => !errors.has(i));
    const inserted = others.length > 0 ? (await this.all(manager, given, others)).values() : [].values();
    return rows.map((_row, i) => {
      const reason = errors.get(i);
      return reason ? { status: 'rejected', reason } : { status: 'fulfilled', value: inserted.next().value! };
    });
  }

  private batch(given: readonly ShapeColumn[]): Together<Row, Row> {
    const name = namesOf(given);
    let batch = this.batches.get(name);
    if (!batch) {
      const { manager } = this.shape.entity.dataSource;
      batch = new Together(this.statements.connections.writes, (rows) => this.attempt(manager, given, rows));
      this.batches.set(name, batch);
    }
    return batch;
  }
}
