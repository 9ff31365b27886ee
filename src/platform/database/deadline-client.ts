import type { Socket } from 'node:net';
import { type ClientConfig, Query, type QueryResult, type Submittable } from 'pg';
import { withExactTimes } from './exact-values.js';
import { HostClient } from './host-client.js';
import { TIMEOUTS } from './session-settings.js';

/** What is missing from the types of `pg`'s client. */
interface Internals {
  connection: { stream: Socket };
  readyForQuery: boolean;
  /** Whether a statement is sent while there is still another to be answered. */
  pipeline: boolean;
}

/** The options of a connection, or of a pool of such. */
export interface DeadlineConfig extends ClientConfig {
  /** For how many milliseconds the server may stay silent while a statement runs. */
  readonly silenceMs?: number;
}

/** What is read of the answer to a statement that begins a transaction. */
type Answered = Pick<QueryResult, 'command' | 'rowCount' | 'rows'>;

const BEGIN = /^\s*(?:BEGIN|START\s+TRANSACTION)\b/i;

/** Whether `pg` refuses a query beside others: it is neither a text nor a query of its own, but submits itself. */
function readsInParts(query: unknown): query is Submittable {
  return typeof (query as Partial<Submittable>).submit === 'function' && !(query instanceof Query);
}

/**
 * A connection that closes itself if the server falls silent in the middle of a statement. `statement_timeout` needs a
 * server that still runs, and `pg`'s own `query_timeout` gives up the statement but returns the connection to the pool
 * while its answer is still to come, before that of the next statement.
 */
export class DeadlineClient extends HostClient {
  private tellSent?: () => void;
  /** Told what the server says to a START TRANSACTION that is not waited for. */
  private start?: PromiseWithResolvers<void>;
  /** What waits for the transaction to have begun, while the server has not said so. */
  private beginning?: (() => void)[];
  private isGathering = false;
  /** Whether the time of silence is measured. A socket tells once that nothing happens, and then never again. */
  private isMeasured = false;

  private readonly silenceMs: number;

  constructor({ silenceMs = TIMEOUTS.silence, ...config }: DeadlineConfig = {}) {
    super({ ...config, pipeline: true });
    this.silenceMs = silenceMs;
  }

  /**
   * Has `begin` send its START TRANSACTION without a round trip of its own: the look-ups that are asked for first go out with
   * it. Whatever may change something waits until the server has begun: where that fails, the connection is closed, and
   * nothing is done outside of a transaction.
   * @returns what the server says to it, as `begun`
   */
  async beginBy(begin: () => Promise<void>): Promise<{ begun: Promise<void> }> {
    const start = Promise.withResolvers<void>();
    // Where it fails, so do the statements behind it.
    start.promise.catch(() => {});
    this.start = start;
    try {
      await begin();
      // Where it has sent none, it has waited for whatever it has sent.
      if (this.start) start.resolve();
    } finally {
      this.start = undefined;
    }
    return { begun: start.promise };
  }

  protected override ask(args: [string, ...unknown[]]): unknown {
    if (readsInParts(args[0])) return this.readInParts(args[0]);
    if (this.start && BEGIN.test(args[0])) return this.beginAtOnce(args[0]);
    const { beginning } = this;
    if (!beginning || (beginning.length === 0 && isLook(args[0]))) return this.send(args);
    const sent = new Promise((resolve) => beginning.push(() => resolve(this.send(args))));
    return isQuery(args[0]) ? args[0] : sent;
  }

  private beginAtOnce(text: string): Promise<Answered> {
    const { resolve, reject } = this.start!;
    this.start = undefined;
    this.send([
      text,
      (error: Error | null) => {
        // Called before anything that waits could be sent.
        const reason = `a transaction could not begin: ${error?.message}`;
        if (error) this.terminate(reason);
        const waiting = this.beginning ?? [];
        this.beginning = undefined;
        for (const send of waiting) send();
        // What is behind it may have been answered already.
        if (error) reject(new Error(`Connection terminated: ${reason}`, { cause: error }));
        else resolve();
      },
    ]);
    this.beginning = [];
    return Promise.resolve({ command: 'START', rowCount: null, rows: [] });
  }

  /** Resolves when the next statement has been sent, or waits with others to be. */
  sent(): Promise<void> {
    return new Promise((resolve) => (this.tellSent = resolve));
  }

  private send(args: [string, ...unknown[]]): unknown {
    this.gather();
    const answer = super.ask(exactly(args));
    this.tellSent?.();
    this.tellSent = undefined;
    return answer;
  }

  /**
   * Runs a query that fetches some rows at a time, such as TypeORM's `stream()`. Until it has ended, the connection is its
   * own: what is asked for meanwhile waits, as `pg` has it without `pipeline`.
   */
  private readInParts<Parts extends Submittable>(query: Parts): Parts {
    const internals = this as unknown as Internals;
    const { stream } = internals.connection;
    const begin = () => {
      this.off('drain', begin).off('end', begin);
      internals.pipeline = false;
      // Whoever reads may pause for longer than a server may.
      if (this.isMeasured) stream.setTimeout(TIMEOUTS.pausedReader);
      else stream.setTimeout(TIMEOUTS.pausedReader, this.fellSilent);
      this.isMeasured = true;
      super.ask([query as never]);
      this.once('drain', () => {
        internals.pipeline = true;
        stream.setTimeout(this.silenceMs);
      });
    };
    if (internals.readyForQuery) begin();
    else this.once('drain', begin).once('end', begin);
    return query;
  }

  private readonly fellSilent = (): void => {
    this.isMeasured = false;
    const internals = this as unknown as Internals;
    if (internals.readyForQuery) return;
    const { stream } = internals.connection;
    const { bytesRead } = stream;
    // After a turn of the event loop that took long, what has arrived is read after the timers and before this.
    setImmediate(() => {
      if (internals.readyForQuery) return;
      if (stream.bytesRead === bytesRead) this.terminate('the database has fallen silent');
      else if (!this.isMeasured) {
        stream.setTimeout(this.silenceMs, this.fellSilent);
        this.isMeasured = true;
      }
    });
  };

  /** What is asked for before anything else happens goes out together: each packet wakes the server. */
  private gather(): void {
    if (this.isGathering) return;
    this.isGathering = true;
    const { stream } = (this as unknown as Internals).connection;
    if (!this.isMeasured) stream.setTimeout(this.silenceMs, this.fellSilent);
    this.isMeasured = true;
    stream.cork();
    process.nextTick(() => {
      this.isGathering = false;
      stream.uncork();
    });
  }
}

/** Whether a statement changes nothing: one of the prepared ones that read or lock. */
function isLook(statement: unknown): boolean {
  const { name, text } = statement as { name?: string; text?: string };
  return Boolean(name) && text!.startsWith('SELECT ');
}

/** Whether a statement is an object that `pg` hands back, instead of promising an answer. */
function isQuery(statement: unknown): boolean {
  return typeof (statement as { submit?: unknown }).submit === 'function';
}

/** A query as `pg` takes it, in either of its forms: a text and values, or an object that holds both. */
type QueryArguments = [what: string | { values?: unknown[] }, values?: unknown];

/** The arguments of `pg`'s `query` with the exact times among the values. */
function exactly<Arguments extends unknown[]>(args: Arguments): Arguments {
  const [what, values] = args as unknown as QueryArguments;
  if (Array.isArray(values)) args[1] = withExactTimes(values);
  else if (typeof what === 'object' && what.values) {
    const exactValues = withExactTimes(what.values);
    // A query that submits itself is its caller's no more.
    if (exactValues !== what.values && 'submit' in what) what.values = exactValues;
    else if (exactValues !== what.values) args[0] = { ...what, values: exactValues };
  }
  return args;
}
