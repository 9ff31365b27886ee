import { currentWork, type Payers } from '../process/index.js';

/**
 * One read of the database that many calls share. Calls during a running read share the next one, so that no
 * answer is older than its call. A lone call is sent at once.
 */
export class SharedRead<Answer> {
  private next?: Promise<Answer>;
  private underWay?: Promise<unknown>;
  private payers = new Set<Payers>();

  /** @param read gets the payers of the calls that share it; the end of a call's request must not end the read */
  constructor(private readonly read: (payers: ReadonlySet<Payers>) => Promise<Answer>) {}

  ask(payers?: Payers): Promise<Answer> {
    if (payers) this.payers.add(payers);
    if (!this.next && !this.underWay) return this.send();
    return (this.next ??= this.underWay!.then(() => this.send()));
  }

  private send(): Promise<Answer> {
    const { payers } = this;
    this.payers = new Set();
    this.next = undefined;
    const answer = this.read(payers);
    const end = () => (this.underWay = undefined);
    this.underWay = answer.then(end, end);
    return answer;
  }
}

/** Look-ups of rows by id: simultaneous look-ups share one statement, which is charged to no client. */
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
