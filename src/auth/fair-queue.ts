import { ApiError } from 'petstore/platform';

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
}

interface Turn extends Requester {
  begin(): void;
  refuse(): void;
}

/**
 * Checks passwords, or does other costly work, a few at a time. Who asks for much waits for himself: the lanes take turns, and when there is no more
 * room, the longest lane makes some.
 */
export class FairQueue {
  private running = 0;
  private waiting = 0;
  /** The next turn is that of the first. None is empty. */
  private readonly lanes = new Map<string, Turn[]>();

  constructor(private readonly limits: Limits) {}

  /** @throws ApiError `service_unavailable` if too many wait already, or it has waited too long */
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
    if (this.waiting >= this.limits.waiting) this.makeRoom(requester.lane);
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((begin, reject) => {
        const refuse = () => reject(tooMuch());
        const turn = { ...requester, begin, refuse };
        this.lanes.set(requester.lane, [...(this.lanes.get(requester.lane) ?? []), turn]);
        this.waiting++;
        timer = setTimeout(() => this.refuse(turn), this.limits.waitMs);
      });
    } finally {
      clearTimeout(timer);
    }
  }

  private next(): void {
    for (const [lane, turns] of this.lanes) {
      const turn = turns[0]!;
      this.remove(turn);
      this.putLast(lane);
      if (!turn.isGone()) return turn.begin();
      turn.refuse();
    }
    this.running--;
  }

  private putLast(lane: string): void {
    const turns = this.lanes.get(lane);
    if (!turns) return;
    this.lanes.delete(lane);
    this.lanes.set(lane, turns);
  }

  /** @throws ApiError `service_unavailable` if no other lane is longer than this one will be */
  private makeRoom(lane: string): void {
    const all = [...this.lanes.values()];
    const gone = all.flat().filter((turn) => turn.isGone());
    for (const turn of gone) this.refuse(turn);
    if (gone.length > 0) return;
    const longest = all.reduce((one, other) => (other.length > one.length ? other : one));
    const own = (this.lanes.get(lane)?.length ?? 0) + 1;
    if (longest.length <= own) throw tooMuch();
    this.refuse(longest.at(-1)!);
  }

  private refuse(turn: Turn): void {
    this.remove(turn);
    turn.refuse();
  }

  private remove(turn: Turn): void {
    const rest = this.lanes.get(turn.lane)!.filter((other) => other !== turn);
    if (rest.length > 0) this.lanes.set(turn.lane, rest);
    else this.lanes.delete(turn.lane);
    this.waiting--;
  }
}

function tooMuch(): ApiError {
  return new ApiError('service_unavailable', undefined, {
    cause: new Error('Too many passwords are waiting.'),
  });
}
