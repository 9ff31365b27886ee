import { setImmediate as nextTurn } from 'node:timers/promises';
import { asker } from './asker.js';

/**
 * One read of the database that many calls share. Calls before the read is sent share its answer; calls while it is under
 * way share the next read, so no answer is older than its call.
 */
export class SharedRead<Answer> {
  private next?: Promise<Answer>;
  private underWay?: Promise<unknown>;
  private callers = new Set<string>();

  /** @param read gets the callers that share it; none of their requests must end it */
  constructor(private readonly read: (callers: ReadonlySet<string>) => Promise<Answer>) {}

  ask(caller?: string): Promise<Answer> {
    if (caller !== undefined) this.callers.add(caller);
    return (this.next ??= this.send());
  }

  private async send(): Promise<Answer> {
    // Calls of one turn of the event loop share a read, even if none is under way.
    await (this.underWay ?? nextTurn());
    this.next = undefined;
    const { callers } = this;
    this.callers = new Set();
    const answer = this.read(callers);
    this.underWay = this.end(answer);
    return answer;
  }

  private async end(answer: Promise<Answer>): Promise<void> {
    await Promise.allSettled([answer]);
    this.underWay = undefined;
  }
}

/** Look-ups of rows by id: those of one moment are one statement, which is no single caller's. */
export class SharedLookUps<Row> {
  private ids = new Set<string>();
  private readonly shared: SharedRead<ReadonlyMap<string, Row>>;

  /** @param find finds the rows with these ids */
  constructor(find: (ids: string[]) => Promise<ReadonlyMap<string, Row>>) {
    this.shared = new SharedRead(() => {
      const ids = [...this.ids];
      this.ids = new Set();
      return asker.run(undefined, () => find(ids));
    });
  }

  async find(id: string): Promise<Row | undefined> {
    this.ids.add(id);
    return (await this.shared.ask()).get(id);
  }
}
