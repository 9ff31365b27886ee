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

/** For whom work is done. */
export interface Requester {
  /** Those of one lane wait for each other; the lanes take turns. */
  lane: string;
  /** Whether nobody waits for the answer any more. */
  isGone(): boolean;
}

interface Limits {
  /** How much is done at once. */
  concurrency: number;
  /** How many may wait. */
  waiting: number;
  /** For how many milliseconds one may wait. */
  waitMs: number;
  /** What is thrown where too many wait already, or one has waited too long. */
  refusal(): Error;
}

interface Turn extends Requester {
  begin(): void;
  refuse(): void;
}

/**
 * Does costly work, such as checking passwords, a few at a time. The lanes take turns, so that whoever asks for much waits
 * for himself, and when there is no more room, the longest lane makes some.
 */
export class FairQueue {
  private running = 0;
  private readonly waiting = new Shares<Turn>();

  constructor(private readonly limits: Limits) {}

  /** @throws the refusal of the limits if too many wait already, or it has waited too long */
  async run<Result>(requester: Requester, work: () => Promise<Result>): Promise<Result> {
    if (this.running < this.limits.concurrency) this.running++;
    else await this.wait(requester);
    try {
      return await work();
    } finally {
      this.next();
    }
  }

  /** Resolves when it is the turn of this one; what ends before has handed its place on. */
  private async wait(requester: Requester): Promise<void> {
    const { lane } = requester;
    if (this.waiting.size >= this.limits.waiting) this.makeRoom(lane);
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((begin, reject) => {
        const turn = { ...requester, begin, refuse: () => reject(this.limits.refusal()) };
        this.waiting.add(lane, turn);
        timer = setTimeout(() => this.refuse(turn), this.limits.waitMs);
      });
    } finally {
      clearTimeout(timer);
    }
  }

  private next(): void {
    for (let turn = this.waiting.takeTurn(); turn; turn = this.waiting.takeTurn()) {
      if (!turn.isGone()) return turn.begin();
      turn.refuse();
    }
    this.running--;
  }

  /** @throws the refusal if no other lane is longer than this one will be */
  private makeRoom(lane: string): void {
    const gone = Array.from(this.waiting.lines(), (line) => [...line].filter((turn) => turn.isGone())).flat();
    for (const turn of gone) this.refuse(turn);
    if (gone.length > 0) return;
    const [, longest] = this.waiting.longest()!;
    if (longest.size <= this.waiting.sizeOf(lane) + 1) throw this.limits.refusal();
    this.refuse([...longest].at(-1)!);
  }

  private refuse(turn: Turn): void {
    this.waiting.delete(turn.lane, turn);
    turn.refuse();
  }
}

/** What takes turns, for a client. */
interface Taker {
  readonly client: string;
  /** Does some work, or begins with it. Its turn lasts until it asks for another. @returns false if it is over already */
  goOn(): boolean;
}

/** A turn of the event loop that took less than so many milliseconds is one in which nobody else had anything to do. */
const IDLE_MS = 0.05;

/** After so many milliseconds, whoever has the turn waits for something. */
const LONGEST_MS = 10;

/**
 * Lets streams go on one at a time, client by client, and then lets all others have as long as that took: a source that gives
 * as fast as it is read would else have a part in every turn of the event loop, and four of them four. Where there is nothing
 * else to do, nobody waits. Measured beside four downloads, 64 clients of lists have three quarters of what they have alone;
 * without turns, a fifth.
 */
class Turns {
  private readonly waiting = new Shares<Taker>();
  private current?: Taker;
  private begun = 0;
  private timer?: NodeJS.Timeout;
  /** Until when it is the others' time, in milliseconds of `performance.now`. */
  private until = 0;
  /** When the event loop came by last. */
  private passed = 0;
  private isWatching = false;

  /** One wants a turn, and has had its last one. */
  add(taker: Taker): void {
    this.waiting.add(taker.client, taker);
    if (this.current === taker) this.end();
    else this.watch();
  }

  /** One wants no more turns. */
  delete(taker: Taker): void {
    this.waiting.delete(taker.client, taker);
    if (this.current === taker) this.end();
  }

  private readonly end = (): void => {
    clearTimeout(this.timer);
    const now = performance.now();
    this.until = now + (now - this.begun);
    this.current = undefined;
    this.watch();
  };

  /** Comes by once a turn of the event loop, while anybody waits. */
  private watch(): void {
    if (this.isWatching || this.waiting.size === 0) return;
    this.isWatching = true;
    this.passed = performance.now();
    setImmediate(this.pass);
  }

  private readonly pass = (): void => {
    const now = performance.now();
    const isIdle = now - this.passed < IDLE_MS;
    const isTime = !this.current && now >= this.until;
    this.passed = now;
    this.isWatching = false;
    if (isIdle || isTime) this.next(now);
    this.watch();
  };

  private next(now: number): void {
    const taker = this.waiting.takeTurn();
    if (!taker) return;
    clearTimeout(this.timer);
    this.current = taker;
    this.begun = now;
    this.timer = setTimeout(this.end, LONGEST_MS);
    if (!taker.goOn() && this.current === taker) this.end();
  }
}

/** Those of this process. */
export const turns = new Turns();
