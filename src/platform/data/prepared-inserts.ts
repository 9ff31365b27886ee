import type { EntityManager } from 'typeorm';
import { BatchedWrites } from './batched-writes.js';
import { namesOf, type Row, type Shape, type ShapeColumn } from './shape.js';
import { insertMany, insertOne } from './sql.js';
import type { Statements } from './statements.js';

/** Inserts into a table; those that come at the same time outside of transactions go into one statement. */
export class PreparedInserts {
  private readonly batches = new Map<string, BatchedWrites<Row, Row>>();

  constructor(
    private readonly shape: Shape,
    private readonly statements: Statements,
  ) {}

  /** Inserts a row with values for some columns; returns it as it is stored. */
  async one(manager: EntityManager, given: readonly ShapeColumn[], row: Row): Promise<Row> {
    // SQL has no type for a list of lists.
    const canBatch = !manager.queryRunner && given.length > 0 && !given.some(({ isArray }) => isArray);
    return canBatch ? this.batch(given).add(row) : (await this.all(manager, given, [row]))[0]!;
  }

  /** Inserts rows by one statement; returns them as they are stored, in the same order. */
  all(manager: EntityManager, given: readonly ShapeColumn[], rows: readonly Row[]): Promise<Row[]> {
    const { shape, statements } = this;
    if (rows.length === 1) {
      const one = statements.once(`insert ${namesOf(given)}`, () => insertOne(shape, given));
      return statements.run(manager, one, rows[0]!);
    }
    const many = statements.once(`insert many ${namesOf(given)}`, () => insertMany(shape, given));
    const lists = given.map((_column, i) => rows.map((row) => row[i]));
    return statements.run(manager, many, lists);
  }

  private batch(given: readonly ShapeColumn[]): BatchedWrites<Row, Row> {
    const name = namesOf(given);
    let batch = this.batches.get(name);
    if (!batch) {
      const { manager } = this.shape.entity.dataSource;
      batch = new BatchedWrites(this.statements.connections.writes, (rows) => this.all(manager, given, rows));
      this.batches.set(name, batch);
    }
    return batch;
  }
}
