import type { EntityManager, ObjectLiteral } from 'typeorm';
import type { Slice } from '../api/paging.js';
import { compareKeys } from './keys.js';
import { type PageShape, selectPage, selectPages } from './page-sql.js';
import type { Place } from './rows.js';
import { namesOf, type Row, type Shape, type ShapeColumn } from './shape.js';
import type { Statements } from './statements.js';
import { made, Together } from './together.js';

/** A page that a request wants. */
interface Wanted {
  /** The same text for the same page. */
  name: string;
  values: unknown[];
  limit: number;
}

/** The number of rows is fixed in a statement's SQL, so sizes are rounded up: ten statements, not a hundred. */
const STEP = 10;

/**
 * Pages in the order of the table's key. Those of one shape that are requested at the same time are read by one
 * statement, equal ones once.
 */
export class PreparedPages {
  private readonly batches = new Map<string, Together<Wanted, Slice>>();
  private readonly key: ShapeColumn;
  private readonly position: number;

  constructor(
    private readonly shape: Shape,
    private readonly statements: Statements,
  ) {
    this.key = shape.keys[0]!;
    this.position = shape.selected.indexOf(this.key);
  }

  async read(manager: EntityManager, filter: ObjectLiteral, { limit, after }: Place): Promise<Slice> {
    const { page, values } = this.describe(filter, limit, after);
    const shapeName = nameOf(page);
    if (manager.queryRunner) {
      const statement = this.statements.once(shapeName, () => selectPage(this.shape, page));
      return this.cut(await this.statements.run(manager, statement, values), limit);
    }
    let batch = this.batches.get(shapeName);
    if (!batch) {
      const read = async (wanted: Wanted[]) => made(await this.readAll(page, wanted));
      batch = new Together(this.statements.connections.reads, read);
      this.batches.set(shapeName, batch);
    }
    return batch.add({ name: JSON.stringify([limit, values.map(textOf)]), values, limit });
  }

  private describe(
    filter: ObjectLiteral,
    limit: number,
    after?: string,
  ): { page: PageShape; values: unknown[] } {
    const { key } = this;
    const names = Object.keys(filter).filter((name) => filter[name] !== undefined);
    const isAmong = Array.isArray(filter[key.property]);
    const columns = names
      .filter((name) => !isAmong || name !== key.property)
      .map((name) => this.shape.column(name));
    const [nulls, equal] = [true, false].map((isNull) =>
      columns.filter(({ property }) => (filter[property] === null) === isNull),
    ) as [ShapeColumn[], ShapeColumn[]];
    const values = equal.map(({ property, write }) => (write ? write(filter[property]) : filter[property]));
    if (isAmong) values.push(filter[key.property]);
    if (after !== undefined) values.push(after);
    const size = Math.ceil(limit / STEP) * STEP + 1;
    return { page: { key, equal, nulls, isAmong, isFirst: after === undefined, size }, values };
  }

  private async readAll(page: PageShape, wanted: Wanted[]): Promise<Slice[]> {
    const distinct = [...new Map(wanted.map((one) => [one.name, one])).values()];
    const rows = await this.readRows(page, distinct);
    const slices = new Map(distinct.map(({ name, limit }, i) => [name, this.cut(rows[i]!, limit)]));
    return wanted.map(({ name }) => slices.get(name)!);
  }

  /** The first rows, of which one more was read than wanted. */
  private cut(all: readonly Row[], limit: number): Slice {
    const rows = all.slice(0, limit);
    return { rows, last: all.length > limit ? String(rows.at(-1)![this.position]) : undefined };
  }

  private async readRows(page: PageShape, distinct: Wanted[]): Promise<Row[][]> {
    const { shape, statements } = this;
    const [one] = distinct;
    // SQL has no type for a list of lists.
    if (
      distinct.length === 1 ||
      one!.values.length === 0 ||
      page.isAmong ||
      page.equal.some(({ isArray }) => isArray)
    ) {
      const statement = statements.once(nameOf(page), () => selectPage(shape, page));
      return Promise.all(distinct.map(({ values }) => statements.runList(statement, values)));
    }
    const several = statements.once(`several of ${nameOf(page)}`, () => selectPages(shape, page));
    const lists = one!.values.map((_value, i) => distinct.map(({ values }) => values[i]));
    const found: Row[][] = distinct.map(() => []);
    for (const row of await statements.runList(several, lists)) found[Number(row.at(-1)) - 1]!.push(row);
    // Joined rows come in this order, but PostgreSQL does not guarantee it.
    return found.map((rows) => rows.toSorted((a, b) => compareKeys(a[this.position], b[this.position])));
  }
}

function nameOf({ equal, nulls, isAmong, isFirst, size }: PageShape): string {
  const filter = `${namesOf(equal)}, no ${namesOf(nulls)}, ${isAmong ? 'among' : 'all'} keys`;
  return `page of ${size} by ${filter}${isFirst ? '' : ' after a key'}`;
}

/** A value as text that no other value of its column has. */
function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : `${value as string | number | bigint | boolean}`;
}
