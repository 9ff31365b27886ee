import type { EntityManager } from 'typeorm';
import type { Position, Slice } from '../api/index.js';
import { isUnavailable } from '../database/index.js';
import { compareKeys, sortText } from './keys.js';
import type { Listing } from './listing.js';
import { describePage, nameOf, type PageShape } from './page-shape.js';
import { selectPage, selectPages } from './page-sql.js';
import type { Place } from './rows.js';
import type { Row, Shape } from './shape.js';
import type { Statements } from './statements.js';
import { made, Together } from './together.js';
import { bytesOfRows, textOf } from './values.js';

/** A page that a request wants. */
interface Wanted {
  /** The same text for the same page. */
  name: string;
  values: unknown[];
  limit: number;
}

/** Pages of a table's rows. Those of one shape that are requested at the same time are read by one statement, equal ones once. */
export class PreparedPages {
  private readonly batches = new Map<string, Together<Wanted, Slice>>();
  /** Of the key in a row. */
  private readonly place: number;

  constructor(
    private readonly shape: Shape,
    private readonly statements: Statements,
  ) {
    this.place = shape.selected.indexOf(shape.keys[0]!);
  }

  async read(manager: EntityManager, list: Listing, place: Place): Promise<Slice> {
    const { page, values } = describePage(this.shape, list, place);
    const { limit } = place;
    const shapeName = nameOf(page);
    if (manager.queryRunner) {
      const statement = this.statements.once(shapeName, () => selectPage(this.shape, page));
      return this.cut(page, await this.statements.run(manager, statement, values), limit);
    }
    let batch = this.batches.get(shapeName);
    if (!batch) {
      batch = new Together(this.statements.connections.reads, {
        make: async (wanted) => made(await this.readAll(page, wanted)),
        // Nothing is left behind by what only reads.
        canRepeat: (error) => !isUnavailable(error),
        bytesOf: ({ rows }) => bytesOfRows(rows.at(-1), rows.length),
      });
      this.batches.set(shapeName, batch);
    }
    return batch.add({ name: JSON.stringify([limit, values.map(textOf)]), values, limit });
  }

  private async readAll(page: PageShape, wanted: Wanted[]): Promise<Slice[]> {
    const distinct = [...new Map(wanted.map((one) => [one.name, one])).values()];
    const rows = await this.readRows(page, distinct);
    const slices = new Map(distinct.map(({ name, limit }, i) => [name, this.cut(page, rows[i]!, limit)]));
    return wanted.map(({ name }) => slices.get(name)!);
  }

  /** The first rows, of which one more was read than wanted. */
  private cut(page: PageShape, all: readonly Row[], limit: number): Slice {
    const rows = all.slice(0, limit);
    return { rows, last: all.length > limit ? this.positionOf(page, rows.at(-1)!) : undefined };
  }

  private positionOf({ sort }: PageShape, row: Row): Position {
    const id = String(row[this.place]);
    if (!sort) return { id };
    const value = row[this.shape.selected.indexOf(sort)];
    return { id, value: sortText(sort.read ? sort.read(value) : value) };
  }

  private async readRows(page: PageShape, distinct: Wanted[]): Promise<Row[][]> {
    const { shape, statements } = this;
    const [one] = distinct;
    // SQL has no type for a list of lists.
    if (
      distinct.length === 1 ||
      one!.values.length === 0 ||
      page.among ||
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
    return found.map((rows) => rows.toSorted((a, b) => this.compare(page, a, b)));
  }

  private compare({ sort, isDescending }: PageShape, a: Row, b: Row): number {
    // Only PostgreSQL knows the order of texts: its numbers of the rows.
    if (sort) return Number(a.at(-2)) - Number(b.at(-2));
    const [one, other] = [a[this.place], b[this.place]];
    return isDescending ? compareKeys(other, one) : compareKeys(one, other);
  }
}
