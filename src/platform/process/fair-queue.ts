import { Shares } from './shares.js';

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
