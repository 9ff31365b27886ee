import { addAbortListener } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { textOf } from './shown-error.js';

/**
 * The running release, such as `1.1.0`, or `1.2.0-dev` before a release: the version of the package. Undefined in
 * Node before 22.14, which `requireNode` refuses.
 */
export const RELEASE: string =
  module.findPackageJSON &&
  JSON.parse(readFileSync(module.findPackageJSON(import.meta.url)!, 'utf8')).version;

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** The work of a process, which runs until it fails or is stopped. */
export interface Stoppable {
  /** Resolves to the reason if the work fails while it runs. */
  failure?: Promise<Error>;
  stop(): Promise<void>;
}

/**
 * The life of a process: one start, and one stop, which ends the process. A stop during the start aborts the start and
 * waits for its clean-up.
 */
export class Lifecycle {
  /** Milliseconds after which an unfinished stop ends the process with status 1. */
  patienceMs = 20_000;
  private readonly stopping = new AbortController();
  private starting?: Promise<Stoppable>;

  /**
   * @param status exit status after a signal, or after `stop` without a failure
   * @param print shows the progress of a stop at a terminal
   */
  constructor(
    private readonly status: number,
    private readonly print: (line: string) => void = () => {},
  ) {
    // PID 1 of a container ignores signals that have no handler.
    for (const signal of SIGNALS) process.on(signal, () => this.stop());
    // Node would print all properties of an error. An unhandled rejection comes here too.
    process.on('uncaughtException', fail);
  }

  /** Whether the process is about to end. */
  get isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  /**
   * Starts the work of the process; stops the process if the work fails. Never returns once a stop is requested.
   * @param start gives up when the signal is aborted, and cleans up
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

  /** Stops the work and ends the process; with a failure, prints it and ends with status 1. */
  stop(failure?: Error): void {
    if (this.isStopping) return;
    if (!failure) this.print('Stopping: requests under way are answered first.');
    this.stopping.abort(new Error('The process is stopping.'));
    setTimeout(() => (failure ? fail(failure) : process.exit(1)), this.patienceMs);
    void this.end(failure);
  }

  private async end(failure?: Error): Promise<never> {
    const started = await this.starting?.catch(() => undefined);
    await started?.stop().catch(fail);
    if (failure) fail(failure);
    this.print('Stopped.');
    process.exit(this.status);
  }
}

/**
 * Waits for a part of the start that needs no clean-up, such as a migration: PostgreSQL rolls a migration back when its
 * connection ends.
 * @throws the reason of the stop, without waiting for the work
 */
export async function unlessStopped<Result>(work: Promise<Result>, stopping?: AbortSignal): Promise<Result> {
  if (!stopping) return work;
  const stopped = new Promise<never>((_resolve, reject) => {
    addAbortListener(stopping, () => reject(stopping.reason as Error));
  });
  return Promise.race([work, stopped]);
}

/** A problem for the operator to solve. The message, printed as one line, says what is wrong and what to do. */
export class OperatorError extends Error {}

/**
 * Call this before the service is loaded: an older Node.js fails to load the service, with an error of its own.
 * @throws OperatorError if this Node lacks `Map.prototype.getOrInsertComputed`, the newest API that the service needs
 */
export function requireNode(): void {
  if ('getOrInsertComputed' in Map.prototype) return;
  throw new OperatorError(
    `The service needs Node 26, but this is ${process.version}. \`npm start\` uses the Node 26 that npm has installed.`,
  );
}

const PROGRAM = fileURLToPath(new URL('../../commands/petstore.js', import.meta.url));

/** The command line of a command: in a repository, its script in package.json; in an image, which has no sources, its file. */
export function commandLine(name: string): string {
  if (existsSync('src') && existsSync('package.json')) {
    const { scripts = {} } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts?: Record<string, string>;
    };
    const script = Object.keys(scripts).find((one) =>
      new RegExp(`petstore(?:\\.js)? ${name}$`).test(scripts[one]!),
    );
    if (script) return `npm run ${script}`;
  }
  return `node ${relative('', PROGRAM)} ${name}`;
}

/** Writes the first line of each warning of Node and of libraries; Node would write all lines to standard error. */
export function onWarning(write: (line: string) => void): void {
  process.removeAllListeners('warning').on('warning', ({ name, message }) => {
    write(`${name}: ${message.split('\n', 1)[0]}`);
  });
}

/** Ends the process with status 1. Prints an `OperatorError` as one line, any other error as a log shows it. */
export function fail(error: unknown): never {
  console.error(error instanceof OperatorError ? `petstore: ${error.message}` : textOf(error));
  process.exit(1);
}

/** Lines that features add to the addresses that the terminal shows once the service listens. */
export class StartBlock {
  /** Names of at most eleven characters, each with its text. */
  readonly notes: [name: string, text: string][] = [];

  /** Adds a line. Call this in the constructor of a provider. */
  add(name: string, text: string): void {
    this.notes.push([name, text]);
  }
}
