import { callbackify } from 'node:util';
import { Client, type ClientConfig, type Connection } from 'pg';
import { OperatorError } from '../../process/index.js';
import { SET_SESSION } from '../session-settings.js';
import { TIMEOUTS } from '../timeouts.js';
import { type Host, Hosts } from './hosts.js';
import { requireUtf8 } from './server-state.js';

/** SQLSTATE `read_only_sql_transaction`. */
const READ_ONLY = '25006';

interface ParameterStatus {
  parameterName: string;
  parameterValue: string;
}

/**
 * A connection to whichever host of its URL can be written, which `pg` does not look for: `target_session_attrs` of libpq.
 * It closes itself when its server has become read only; so does one to a single server. It leads to no database that is
 * not in UTF-8.
 */
export class HostClient extends Client {
  private readonly hosts?: Hosts;
  private readonly withinMs: number;
  /** Why there is nothing to connect to. */
  private readonly unreadable?: Error;
  /** PostgreSQL, or a pooler in front, tells it of every new connection. */
  private encoding?: string;

  constructor(options: ClientConfig = {}) {
    const hosts = Hosts.of(options.connectionString);
    const own = hosts ? { ...options, connectionString: hosts.all[0]!.url } : options;
    const unreadable = whyUnreadable(own);
    super(unreadable ? {} : own);
    this.unreadable = unreadable;
    this.hosts = hosts;
    this.withinMs = options.connectionTimeoutMillis ?? TIMEOUTS.start;
    // The next statement on a closed connection fails anyway; without a listener, an `error` event between two users of
    // the connection would end the process.
    this.on('error', () => {});
    // `pg` listens only when it connects: it may be given up before.
    this.connection.stream.on('error', () => {});
    const connection: Connection = this.connection;
    connection.on('parameterStatus', ({ parameterName, parameterValue }: ParameterStatus) => {
      if (parameterName === 'server_encoding') this.encoding = parameterValue;
    });
    this.connection.on('errorMessage', ({ code }: { code?: string }) => {
      if (code === READ_ONLY) this.terminate('the database has become read only');
    });
  }

  override connect(): Promise<Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<Client> | void {
    const { hosts, unreadable } = this;
    const reach = () => (unreadable ? Promise.reject(unreadable) : hosts ? this.reach(hosts) : this.open());
    return callback ? callbackify(reach)(callback) : reach();
  }

  /** Closes the connection: a statement that is under way fails, and the server undoes its transaction. */
  terminate(reason: string): void {
    this.connection.stream.destroy(new Error(`Connection terminated: ${reason}`));
  }

  /** @throws OperatorError if the database is not in UTF-8 */
  private async open(): Promise<Client> {
    await super.connect();
    try {
      requireUtf8(this.database, this.encoding);
      await this.query(SET_SESSION);
    } catch (error) {
      this.terminate('it is not used');
      throw error;
    }
    return this;
  }

  private async reach(hosts: Hosts): Promise<Client> {
    // A pool gives a connection up after the whole time, without a reason, also one that has not begun.
    const host = await hosts.find(this.withinMs * 0.9);
    if (this.connection.stream.destroyed) throw new Error('timeout expired');
    Object.assign(this, { host: host.host, port: host.port });
    try {
      await this.open();
      await hosts.admit(this, host);
    } catch (error) {
      hosts.leave(host, error as Error);
      this.terminate('it is not used');
      throw error;
    }
    this.follow(hosts, host);
    return this;
  }

  /** Reports what becomes of it. PostgreSQL tells of this setting when it changes. */
  private follow(hosts: Hosts, host: Host): void {
    this.on('error', (error) => hosts.leave(host, error));
    this.once('end', () => hosts.forget(this));
    const connection: Connection = this.connection;
    connection.on('parameterStatus', ({ parameterName, parameterValue }: ParameterStatus) => {
      if (parameterName === 'default_transaction_read_only' && parameterValue === 'on')
        this.terminate('the database has become read only');
    });
  }
}

/**
 * Why the options make no client, such as a certificate of the URL that cannot be read at the moment. A pool makes clients
 * where nobody would catch what the constructor throws.
 */
function whyUnreadable(options: ClientConfig): Error | undefined {
  let reason: Error | undefined;
  try {
    void new Client(options);
  } catch (error) {
    reason = new OperatorError(`The URL of the database cannot be used: ${(error as Error).message}.`);
  }
  return reason;
}
