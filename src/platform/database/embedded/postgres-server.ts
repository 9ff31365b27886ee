import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type DatabaseError } from 'pg';
import { OperatorError } from '../../process/index.js';
import { start } from './binaries.js';
import type { DataFolder } from './data-folder.js';

/** Recovery after a crash may take as long as it needs; this is for a server that does not respond, in milliseconds. */
const START_TIMEOUT_MS = 60_000;
/** Milliseconds for the last words of a server that has ended. */
const LAST_WORDS_MS = 200;
/** SQLSTATE `cannot_connect_now`. */
const STARTING_UP = '57P03';

/** A PostgreSQL server from its start to its end. */
export class PostgresServer {
  /** Resolves when it ends, to how: a signal or an exit code. */
  readonly end: Promise<string>;
  private readonly process;

  constructor(
    program: string,
    args: string[],
    private readonly folder: DataFolder,
  ) {
    this.process = start(program, folder, ['-D', folder.dataDirectory, ...args]);
    this.end = new Promise((resolve) => {
      this.process.once('error', (error) => resolve(error.message));
      this.process.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
  }

  get isRunning(): boolean {
    const { pid, exitCode, signalCode } = this.process;
    return pid !== undefined && exitCode === null && signalCode === null;
  }

  /** Ends its sessions and then itself ("fast" shutdown). */
  stop(): void {
    this.process.kill('SIGINT');
  }

  /** Ends all its processes at once ("immediate" shutdown); the next start recovers. */
  abort(): void {
    this.process.kill('SIGQUIT');
  }

  /**
   * Connects as soon as the server accepts connections.
   * @throws OperatorError with its last words if it ends instead, or does not respond for a minute
   */
  async connect(url: string): Promise<Client> {
    let deadline = Date.now() + START_TIMEOUT_MS;
    while (this.isRunning && Date.now() < deadline) {
      const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
      // The server may end while it is idle.
      client.on('error', () => {});
      try {
        await client.connect();
        return client;
      } catch (error) {
        if ((error as DatabaseError).code === STARTING_UP) deadline = Date.now() + START_TIMEOUT_MS;
        await client.end().catch(() => {});
        await sleep(20);
      }
    }
    if (!this.isRunning) await this.hearOut();
    throw new OperatorError(`The embedded PostgreSQL did not start: ${this.folder.log.tail()}`);
  }

  /** A session that outlives the server keeps its output open. */
  private async hearOut(): Promise<void> {
    if (this.process.stderr.readableEnded) return;
    await Promise.race([once(this.process.stderr, 'end'), sleep(LAST_WORDS_MS)]);
  }
}
