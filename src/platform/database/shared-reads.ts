import { setImmediate as nextTurn } from 'node:timers/promises';
import { currentWork, LoneWorks, type Payers } from '../process/index.js';

/**
 * One read of the database that many calls share: those of one turn of the event loop, and those while a read is under way share the
 * next one, so no answer is older than its call. A call after some lone ones is sent at once.
 */
export class SharedRead<Answer> {
  private next?: Promise<Answer>;
  private underWay?: Promise<unknown>;
  private calls = 0;
  private readonly lone = new LoneWorks();
  private payers = new Set<Payers>();

  /** @param read gets the payers of the calls that share it; none of their requests must end it */
  constructor(private readonly read: (payers: ReadonlySet<Payers>) => Promise<Answer>) {}

  ask(payers?: Payers): Promise<Answer> {
    this.calls++;
    if (payers) this.payers.add(payers);
    if (!this.next && !this.underWay && this.lone.areUsual) return this.send();
    return (this.next ??= (this.underWay ?? nextTurn()).then(() => this.send()));
  }

  private send(): Promise<Answer> {
    const { calls, payers } = this;
    this.lone.add(calls === 1);
    this.calls = 0;
    this.payers = new Set();
    this.next = undefined;
    const answer = this.read(payers);
    const end = () => (this.underWay = undefined);
    this.underWay = answer.then(end, end);
    return answer;
  }
}

/** Look-ups of rows by id: those of one moment are one statement, which is no single client's. */
export class SharedLookUps<Row> {
  private ids = new Set<string>();
  private readonly shared: SharedRead<ReadonlyMap<string, Row>>;

  /** @param find finds the rows with these ids */
  constructor(find: (ids: string[]) => Promise<ReadonlyMap<string, Row>>) {
    this.shared = new SharedRead(() => {
      const ids = [...this.ids];
      this.ids = new Set();
      return currentWork.run(undefined, () => find(ids));
    });
  }

  async find(id: string): Promise<Row | undefined> {
    this.ids.add(id);
    return (await this.shared.ask()).get(id);
  }
}
