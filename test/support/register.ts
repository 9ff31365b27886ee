interface Write<Value> {
  value: Value;
  acknowledged: boolean;
}

/** The moment at which a read began, in the history of a register. */
export type Moment = number;

/**
 * The history of one value in the store: written by one client, one write after the other, and read by many. A read
 * that begins after a write was acknowledged must return its value or that of a later write.
 */
export class Register<Value> {
  private readonly writes: Write<Value>[];

  constructor(value: Value) {
    this.writes = [{ value, acknowledged: true }];
  }

  /** Runs a write that sets the register to `value`. */
  async write<Answer>(value: Value, run: () => Promise<Answer>): Promise<Answer> {
    const write = { value, acknowledged: false };
    this.writes.push(write);
    const answer = await run();
    write.acknowledged = true;
    return answer;
  }

  /** Call this before a read. */
  now(): Moment {
    return this.writes.findLastIndex(({ acknowledged }) => acknowledged);
  }

  /** Whether a read that began at `begun`, and has just ended, may have seen `value`. */
  mayBe(value: unknown, begun: Moment): boolean {
    return this.writes.slice(begun).some((write) => write.value === value);
  }
}
