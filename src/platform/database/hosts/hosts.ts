import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { Client } from 'pg';
import { hostUrlsOf, isForWrites } from '../../process/index.js';
import { TIMEOUTS } from '../timeouts.js';
import { askServer } from './server-state.js';

/** Milliseconds that a host has to answer before the next one is asked too. */
const HEAD_START_MS = 50;
/** Milliseconds between two looks at the same host. */
const LOOK_MS = 100;

/** One of the hosts of a URL. */
export interface Host {
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
export interface Session {
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
