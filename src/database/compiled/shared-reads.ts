import type { EntityManager } from 'typeorm';
import { Lane } from './lane.js';
import { run } from './run.js';
import type { Statement } from './statement.js';

type Row = unknown[];

/** Reads outside of transactions, of which those that come at the same time are answered together. */
export class SharedReads {
  private readonly lists = new Map<Statement, Lane<string, Map<unknown, Row>>>();
  private readonly equals = new Map<string, Lane<void, unknown>>();

  /** The row that has `value` in its first column. `statement` finds the rows of a list of such values. */
  async one(statement: Statement, value: string, manager: EntityManager): Promise<Row | undefined> {
    let lane = this.lists.get(statement);
    if (!lane) {
      lane = new Lane(async (values) => {
        const { rows } = await run(manager, statement, { [statement.parameters[0]!]: values });
        return new Map(rows.map((row) => [row[0], row]));
      });
      this.lists.set(statement, lane);
    }
    return (await lane.ask(value)).get(value);
  }

  /**
   * What `read` gives, which all share who ask under the same name at the same time: it must not be changed.
   * @param name says all of what is read
   */
  same<Answer>(name: string, read: () => Promise<Answer>): Promise<Answer> {
    let lane = this.equals.get(name) as Lane<void, Answer> | undefined;
    if (!lane) {
      lane = new Lane(read, () => this.equals.delete(name));
      this.equals.set(name, lane as Lane<void, unknown>);
    }
    return lane.ask();
  }
}
