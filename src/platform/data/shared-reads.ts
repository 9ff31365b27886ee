import type { EntityManager, ObjectLiteral } from 'typeorm';
import { Batcher } from '../database/index.js';
import { isExactKey } from './keys.js';
import { namesOf, type Row, type Shape, type ShapeColumn } from './shape.js';
import { selectAmong, selectOne } from './sql.js';
import type { Statements } from './statements.js';
import { bytesOfRows } from './values.js';

type Found = Map<string, Row>;

/** Rows looked up by their key outside of transactions: those that are at the same time are found by one statement. */
export class SharedReads {
  private readonly batcher?: Batcher<string, Found>;
  private readonly key: ShapeColumn;

  constructor(shape: Shape, statements: Statements) {
    const [key, ...more] = shape.keys;
    const position = shape.selected.indexOf(key!);
    this.key = key!;
    if (more.length > 0 || position < 0 || !isMatched(key!)) return;
    const { manager } = shape.entity.dataSource;
    this.batcher = new Batcher(
      async (keys) => {
        // Of a lone key, PostgreSQL finds the row in a third of the time.
        const statement =
          keys.length === 1
            ? statements.once(`find by ${namesOf([key!])}`, () => selectOne(shape, [key!], false))
            : statements.once('find among', () => selectAmong(shape, key!));
        const rows = await statements.run(manager, statement, keys.length === 1 ? keys : [keys]);
        return new Map(rows.map((row) => [String(row[position]), row]));
      },
      statements.connections.reads,
      (found) => bytesOfRows(found.values().next().value, found.size),
    );
  }

  /** The row, null for none; undefined where this is not looked up by a key that can be shared. */
  tryShare(manager: EntityManager, where: ObjectLiteral): Promise<Row | null> | undefined {
    if (!this.batcher || manager.queryRunner) return undefined;
    const names = Object.keys(where);
    if (names.length !== 1 || names[0] !== this.key.property) return undefined;
    const text = where[names[0]] as unknown;
    if (!isExactKey(this.key.type, text)) return undefined;
    return this.batcher.add(text).then((found) => found.get(text) ?? null);
  }
}

/** Whether a row's key has the very text that it was asked for by. */
function isMatched({ type, isArray, read }: ShapeColumn): boolean {
  return !isArray && !read && (type === 'bigint' || type === 'uuid');
}
