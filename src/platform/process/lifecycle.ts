const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** What a process runs until it is stopped, or cannot go on. */
export interface Stoppable {
  /** Resolves to the reason if it cannot go on. */
  failure?: Promise<Error>;
  stop(): Promise<void>;
}

/**
 * The life of a process: one start, and one stop, which ends the process. A stop in the middle of the start aborts the
 * start and waits until it has undone what it had begun, so that nothing begins after the stop, and nothing is left.
 */
export class Lifecycle {
  /** Milliseconds that a stop may take; the process then ends with status 1. */
  patienceMs = 20_000;
  private readonly stopping = new AbortController();
  private starting?: Promise<Stoppable>;

  /**
   * @param status with which the process ends when a signal, or `stop`, has told it to
   * @param tell says at a terminal what becomes of a stop
   */
  constructor(
    private readonly status: number,
    private readonly tell: (line: string) => void = () => {},
  ) {
    // PID 1 of a container ignores signals that it has no handler for.
    for (const signal of SIGNALS) process.on(signal, () => this.stop());
  }

  /** Whether the process is about to end. */
  get isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  /**
   * Starts what the process is for, which is stopped when it cannot go on. Does not return once the process is to stop.
   * @param start gives up when the signal is aborted, and undoes what it has begun
   * @throws what `start` throws
   */
  async start<Started extends Stoppable>(
    start: (stopping: AbortSignal) => Promise<Started>,
  ): Promise<Started> {
    const starting = start(this.stopping.signal);
    this.starting = starting;
    try {
      const started = await starting;
      void started.failure?.then((failure) => this.stop(failure));
      if (!this.isStopping) return started;
    } catch (error) {
      if (!this.isStopping) throw error;
    }
    return new Promise(() => {});
  }

  /** Stops what was started, and ends the process: with status 1 and a line about the failure if there is one. */
  stop(failure?: Error): void {
    if (this.isStopping) return;
    if (!failure) this.tell('Stopping: requests that are under way are answered first.');
    this.stopping.abort(new Error('The process was told to stop.'));
    setTimeout(() => (failure ? fail(failure) : process.exit(1)), this.patienceMs);
    void this.end(failure);
  }

  private async end(failure?: Error): Promise<never> {
    const started = await this.starting?.catch(() => undefined);
    await started?.stop().catch(fail);
    if (failure) fail(failure);
    this.tell('Stopped.');
    process.exit(this.status);
  }
}

/**
 * Waits for a part of a start that can be cut off at any time, such as a migration: PostgreSQL undoes it when its
 * connection ends.
 * @throws the reason of the stop, without waiting for the work
 */
export async function unlessStopped<Result>(work: Promise<Result>, stopping?: AbortSignal): Promise<Result> {
  if (!stopping) return work;
  let stop!: () => void;
  const stopped = new Promise<never>((_resolve, reject) => {
    stop = () => reject(stopping.reason as Error);
    stopping.addEventListener('abort', stop);
  });
  if (stopping.aborted) stop();
  try {
    return await Promise.race([work, stopped]);
  } finally {
    stopping.removeEventListener('abort', stop);
  }
}

/** A problem that the operator has to solve. Its message is printed as one line: what is wrong, and what to do. */
export class OperatorError extends Error {}

/**
 * Ends the process with status 1; prints an `OperatorError` as one line, and of any other its stack: the properties of a
 * database's error hold the statement and its values.
 */
export function fail(error: unknown): never {
  const bug = error instanceof Error ? error.stack : error;
  console.error(error instanceof OperatorError ? `petstore: ${error.message}` : bug);
  process.exit(1);
}

/** What the terminal shows once the service listens, beside its addresses. */
export class StartBlock {
  /** Names, of at most eleven characters, and what is said of each. */
  readonly notes: [name: string, text: string][] = [];

  /** Adds a line, from the constructor of a provider: what becomes of messages. */
  add(name: string, text: string): void {
    this.notes.push([name, text]);
  }
}
