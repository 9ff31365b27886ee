import type { Socket } from 'node:net';
import { Client, type ClientConfig, defaults } from 'pg';
import { TIMEOUTS } from './timeouts.js';

// `pg` would write a Date in the time zone of this process, and drop the seconds that zones were apart before 1900.
defaults.parseInputDatesAsUTC = true;

/** As much of `pg`'s client as is not in its types. */
interface Internals {
  connection: { stream: Socket };
  readyForQuery: boolean;
}

/**
 * A connection that closes itself where the server falls silent in the middle of a statement. `statement_timeout` needs
 * a server that still runs, and `pg`'s own `query_timeout` gives up the statement but hands the connection on, with the
 * answer to come still in front of the next one.
 */
export class DeadlineClient extends Client {
  /** @param silenceMs how long the server may say nothing while a statement runs */
  constructor(config?: string | ClientConfig, silenceMs = TIMEOUTS.silence) {
    super(config);
    // The end of a connection is told to its next statement too. While the connection goes from one user to the next,
    // nobody else may listen, and then the event would end the process.
    this.on('error', () => {});
    const client = this as unknown as Internals;
    const { stream } = client.connection;
    stream.setTimeout(silenceMs, () => {
      if (!client.readyForQuery)
        stream.destroy(new Error('Connection terminated: the database has fallen silent'));
    });
  }
}
