/**
 * Things that clients hold, or wait with, in a line for each client. Where they wait, the lines take turns, so that
 * whoever asks for much waits for himself; where they hold too much, the longest line is who gives something up.
 */
export class Shares<Thing, Client = string> {
  /** The lines by client, none of them empty. The next turn is that of the first. */
  private readonly byClient = new Map<Client, Set<Thing>>();
  private count = 0;

  /** The things of all clients. */
  get size(): number {
    return this.count;
  }

  sizeOf(client: Client): number {
    return this.byClient.get(client)?.size ?? 0;
  }

  /** Puts a thing at the end of the line of its client. */
  add(client: Client, thing: Thing): void {
    const line = this.byClient.get(client);
    if (line) line.add(thing);
    else this.byClient.set(client, new Set([thing]));
    this.count++;
  }

  /** Does nothing if the client does not have the thing any more. */
  delete(client: Client, thing: Thing): void {
    const line = this.byClient.get(client);
    if (!line?.delete(thing)) return;
    this.count--;
    if (line.size === 0) this.byClient.delete(client);
  }

  /** Takes the first thing of the line whose turn it is, of the clients that may have one; that line goes last. */
  takeTurn(mayHave: (client: Client) => boolean = () => true): Thing | undefined {
    for (const [client, line] of this.byClient) {
      if (!mayHave(client)) continue;
      const [thing] = line;
      this.delete(client, thing!);
      if (this.byClient.delete(client)) this.byClient.set(client, line);
      return thing;
    }
    return undefined;
  }

  /** The line of each client. */
  lines(): Iterable<ReadonlySet<Thing>> {
    return this.byClient.values();
  }

  /** The line of a client, which is empty where there is none. */
  lineOf(client: Client): ReadonlySet<Thing> {
    return this.byClient.get(client) ?? new Set();
  }

  /**
   * Whose line is the longest, and that line; of several, the one whose turn comes first. Undefined where there is none.
   * @param lengthOf what counts as the length of a line; when left out, how many there are in the line
   */
  longest(
    lengthOf: (line: ReadonlySet<Thing>) => number = ({ size }) => size,
  ): [client: Client, line: ReadonlySet<Thing>] | undefined {
    let longest: [Client, Set<Thing>] | undefined;
    let length = 0;
    for (const entry of this.byClient) {
      const own = lengthOf(entry[1]);
      if (own > length) [longest, length] = [entry, own];
    }
    return longest;
  }
}

/**
 * What clients hold of something that is scarce, such as connections. Beyond the bound, whoever holds most loses what it
 * has held longest: one client can take nothing from the others, and what takes longest is least likely to end well.
 */
export class Holdings<Thing> extends Shares<Thing> {
  /** @param takeAway is called with a thing that its holder has lost */
  constructor(
    private readonly bound: number,
    private readonly takeAway: (thing: Thing) => void,
  ) {
    super();
  }

  override add(holder: string, thing: Thing): void {
    super.add(holder, thing);
    if (this.size > this.bound) this.giveUp();
  }

  /** Takes what has been held longest from whoever holds most, if anybody holds anything. */
  giveUp(): void {
    const most = this.longest();
    if (!most) return;
    const [holder, [oldest]] = most;
    this.delete(holder, oldest!);
    this.takeAway(oldest!);
  }
}
