import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { callbackify } from 'node:util';
import { Client, type ClientConfig, type Connection, type QueryResult } from 'pg';
import { hostUrlsOf, isForWrites, OperatorError } from '../process/index.js';
import { SET_SESSION, TIMEOUTS } from './session-settings.js';

/** A standby is read only; a server that is being replaced may be set so. The log file's name begins with its timeline. */
const STATE = `SELECT current_setting('transaction_read_only') = 'on' AS "isReadOnly",
  current_database() AS name, current_setting('server_encoding') AS encoding,
  CASE WHEN NOT pg_is_in_recovery() THEN pg_walfile_name(pg_current_wal_lsn()) END AS file`;

interface State {
  isReadOnly: boolean;
  name: string;
  encoding: string;
  file: string | null;
}

/** @throws OperatorError unless a database holds every character, and counts characters instead of bytes */
function requireUtf8(name: string | undefined, encoding: string | undefined): void {
  if (encoding === 'UTF8') return;
  throw new OperatorError(
    `The encoding of the database ${name} is ${encoding}, and UTF8 is needed: create another with ` +
      `ENCODING 'UTF8' TEMPLATE template0, and move what this one holds by pg_dump.`,
  );
}

/** The timeline that a server writes. @throws Error if it is read only, or its database is not in UTF-8 */
async function askServer(session: Pick<Client, 'query'>): Promise<number> {
  const { rows } = await session.query<State>(STATE);
  const { isReadOnly, name, encoding, file } = rows[0]!;
  requireUtf8(name, encoding);
  if (isReadOnly || file === null) throw new Error('it cannot be written');
  return Number.parseInt(file.slice(0, 8), 16);
}

/** Milliseconds that a host has to answer before the next one is asked too. */
const HEAD_START_MS = 50;
/** Milliseconds between two looks at the same host. */
const LOOK_MS = 100;

/** One of the hosts of a URL. */
interface Host {
  readonly host: string;
  readonly port: number;
  /** Both, for people: without user and password. */
  readonly name: string;
  readonly url: string;
  isWatched: boolean;
  /** Why it was not used when it was last looked at. */
  problem: string;
}

/** A connection to one of them. */
interface Session {
  terminate(reason: string): void;
}

/**
 * The hosts of a URL, of which at most one can be written at a time: a primary and its standbys. All connections of a
 * process go to the same one. It is looked for when there is none yet, and when a connection to it fails; no server is
 * used that was there before the latest promotion that this process has seen.
 */
export class Hosts {
  private static readonly known = new Map<string, Hosts>();
  readonly all: readonly Host[];
  private writable?: Host;
  /** The one that was used last, else the first of the URL. */
  private latest: Host;
  /** Every promotion begins a new timeline. */
  private timeline = 0;
  private readonly sessions = new Map<Session, Host>();
  private readonly waiting = new Set<(host: Host) => void>();

  private constructor(url: string) {
    this.all = hostUrlsOf(url).map((one) => {
      const { host, port } = new Client({ connectionString: one });
      return { host, port, name: `${host}:${port}`, url: one, isWatched: false, problem: 'not asked yet' };
    });
    this.latest = this.all[0]!;
  }

  /** Those of a URL, which are the same for all who ask; none if it leads to a single server, whatever that can do. */
  static of(url: string | undefined): Hosts | undefined {
    if (url === undefined || !isForWrites(url)) return undefined;
    return this.known.getOrInsertComputed(url, (one) => new Hosts(one));
  }

  /** The one in use, unless it is being looked for. */
  get current(): Host | undefined {
    return this.writable;
  }

  /** The one that can be written. @throws Error if none can within so many milliseconds */
  find(withinMs: number): Promise<Host> {
    if (this.writable) return Promise.resolve(this.writable);
    const { promise, resolve, reject } = Promise.withResolvers<Host>();
    const timer = setTimeout(() => {
      this.waiting.delete(resolve);
      reject(new Error(`No host of the database can be written: ${this.problems()}`));
    }, withinMs);
    this.waiting.add(resolve);
    const others = this.all.filter((host) => host !== this.latest);
    [this.latest, ...others].forEach((host, i) => void this.watch(host, i * HEAD_START_MS));
    return promise.finally(() => clearTimeout(timer));
  }

  /** Takes a connection to a host into use. @throws Error if that is not to be written */
  async admit(session: Session & Pick<Client, 'query'>, host: Host): Promise<void> {
    this.use(host, await askServer(session));
    this.sessions.set(session, host);
  }

  /** A connection has ended. */
  forget(session: Session): void {
    this.sessions.delete(session);
  }

  /** A connection has failed. A host is looked for at once: others to this one would each be waited for in vain. */
  leave(host: Host, { message }: Error): void {
    host.problem = message;
    if (this.writable !== host) return;
    this.writable = undefined;
    this.find(TIMEOUTS.connect).catch(() => {});
  }

  /** Looks at a host as long as somebody waits for one. */
  private async watch(host: Host, headStartMs: number): Promise<void> {
    if (host.isWatched) return;
    host.isWatched = true;
    await sleep(headStartMs);
    while (this.waiting.size > 0) {
      await this.look(host).catch((error: Error) => void (host.problem = error.message));
      if (this.waiting.size > 0) await sleep(LOOK_MS);
    }
    host.isWatched = false;
  }

  private async look(host: Host): Promise<void> {
    const client = new Client({
      connectionString: host.url,
      application_name: 'petstore-hosts',
      connectionTimeoutMillis: TIMEOUTS.connect,
      query_timeout: TIMEOUTS.connect,
    });
    client.on('error', () => {});
    try {
      await client.connect();
      this.use(host, await askServer(client));
    } finally {
      // The server may be frozen, and never answer a farewell.
      client.connection.stream.destroy();
    }
  }

  /** @throws Error if there has been a promotion elsewhere */
  private use(host: Host, timeline: number): void {
    if (timeline < this.timeline) throw new Error('another server has been promoted since');
    const isPromoted = timeline > this.timeline;
    this.timeline = timeline;
    if (!this.writable || (isPromoted && this.writable !== host)) this.moveTo(host);
  }

  private moveTo(host: Host): void {
    if (host !== this.latest)
      new Logger('Database').warn(`Now on ${host.name}, no longer on ${this.latest.name}`);
    this.writable = this.latest = host;
    for (const [session, at] of this.sessions) if (at !== host) session.terminate('the primary has moved');
    for (const resolve of this.waiting) resolve(host);
    this.waiting.clear();
  }

  private problems(): string {
    return this.all.map(({ name, problem }) => `${name}: ${problem}`).join('; ');
  }
}

const COMMIT = /^\s*(?:COMMIT|END)(?:\s+(?:WORK|TRANSACTION))?\s*;?\s*$/i;

/** SQLSTATE `read_only_sql_transaction`. */
const READ_ONLY = '25006';

interface ParameterStatus {
  parameterName: string;
  parameterValue: string;
}

/**
 * A connection to whichever host of its URL can be written, which `pg` does not look for: `target_session_attrs` of libpq.
 * It closes itself when its server has become read only; so does one to a single server. It leads to no database that is
 * not in UTF-8. A COMMIT that the server answers by a ROLLBACK, since a statement before it has failed, fails.
 */
export class HostClient extends Client {
  override readonly query = ((...args: [string]) => {
    const answer = this.ask(args);
    const isCommit = typeof args[0] === 'string' && COMMIT.test(args[0]);
    return isCommit && answer instanceof Promise ? answer.then(requireCommit) : answer;
  }) as Client['query'];
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

  /** What `query` does but for what a COMMIT is answered. */
  protected ask(args: [string, ...unknown[]]): unknown {
    return super.query(...(args as [string]));
  }

  get socket(): Socket {
    return this.connection.stream as Socket;
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

/** @throws Error where the server has undone a transaction instead */
function requireCommit<Answer extends Pick<QueryResult, 'command'>>(answer: Answer): Answer {
  if (answer.command === 'ROLLBACK')
    throw new Error('The transaction was undone: a failure of one of its statements was ignored');
  return answer;
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
