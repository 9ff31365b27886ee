import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { Observable } from 'rxjs';
import { Config } from '../../config.js';
import { TIMEOUTS } from '../database/index.js';
import { Transactions } from './transactions.js';

const CHANNEL = 'petstore_events';

/** Bytes of an event with its topic as JSON: what PostgreSQL takes in a notification, which has less than 8,000. */
const LARGEST = 7_999;

/** How often the connection is tried, in milliseconds; a server that has gone without a word is noticed soon after. */
const LOOK_MS = 5_000;

/** What is told to all instances. */
interface Told {
  topic: string;
  data: unknown;
}

/**
 * So many listeners are told of an event before whatever else waits in the event loop: each costs some 50 µs, in its stream. With
 * 2,000 streams and four events a second, on a busy machine, another client waited 16 ms in one of 100 requests; where all were
 * told at once, 128.
 */
const AT_A_TIME = 50;

/** Who is told what a connection hears. */
interface Listener {
  next(data: unknown): void;
  complete(): void;
}

/** Tells all who listen to a topic, some at a time, and all that was heard in its order. */
class Telling {
  private readonly byTopic = new Map<string, Set<Listener>>();
  private told: Promise<void> = Promise.resolve();

  /** @returns what ends it */
  add(topic: string, listener: Listener): () => void {
    const listeners = this.byTopic.get(topic) ?? new Set();
    this.byTopic.set(topic, listeners.add(listener));
    return () => {
      if (listeners.delete(listener) && listeners.size === 0) this.byTopic.delete(topic);
    };
  }

  hear({ topic, data }: Told): void {
    const listeners = [...(this.byTopic.get(topic) ?? [])];
    if (listeners.length === 0) return;
    this.told = this.tell(listeners, data, this.told);
  }

  private async tell(listeners: Listener[], data: unknown, before: Promise<void>): Promise<void> {
    await before;
    for (const [i, listener] of listeners.entries()) {
      if (i > 0 && i % AT_A_TIME === 0) await nextTurn();
      listener.next(data);
    }
  }

  /** Nothing more is heard: all are told the rest, and that there is no more. */
  async complete(): Promise<void> {
    await this.told;
    for (const listeners of this.byTopic.values()) for (const listener of [...listeners]) listener.complete();
  }
}

/** A connection that listens, and who is told what it hears. */
interface Listening {
  client: Client;
  heard: Telling;
}

/**
 * Tells every instance of the service what has happened in one of them, within a second: PostgreSQL's LISTEN and NOTIFY, on one
 * connection of each process that has subscribers, past a pooler. An event tells that something has changed; what it is stays
 * in a table, and is read from there by whoever was away.
 */
@Injectable()
export class Events implements BeforeApplicationShutdown {
  private readonly logger = new Logger(Events.name);
  private readonly stopping = new AbortController();
  private listening?: Promise<Listening>;

  constructor(
    private readonly transactions: Transactions,
    private readonly config: Config,
  ) {}

  /**
   * Tells all who are subscribed to the topic: when the transaction that is open around the call commits, and never if it is
   * undone; at once where none is open.
   * @param data JSON
   * @throws Error for more than 7,999 bytes with the topic: tell an id, and let subscribers read the row
   */
  async publish(topic: string, data: unknown): Promise<void> {
    const text = JSON.stringify({ topic, data } satisfies Told);
    if (Buffer.byteLength(text) > LARGEST)
      throw new Error(`An event of ${topic} has more than ${LARGEST} bytes as JSON: publish an id instead`);
    await this.transactions.manager.query('SELECT pg_notify($1, $2)', [CHANNEL, text]);
  }

  /**
   * The events of a topic from now on. It completes when the connection to the database is lost, and with it maybe an event:
   * an event stream then ends, its client connects again with `Last-Event-ID`, and `missed` reads what came after that.
   * @param missed what came before, read once nothing new is lost any more: what is there and is told of too comes twice
   * @throws Error where the database is away, answered 503
   */
  of<T>(topic: string, missed: () => Promise<readonly T[]> = async () => []): Observable<T> {
    return new Observable((subscriber) => {
      // What is heard before all that was missed is there waits behind it.
      let waiting: T[] | undefined = [];
      const tell = (data: T) => (waiting ? waiting.push(data) : subscriber.next(data));
      const start = async () => {
        const { heard } = await this.listen();
        if (subscriber.closed) return;
        const listener = { next: (data: unknown) => tell(data as T), complete: () => subscriber.complete() };
        subscriber.add(heard.add(topic, listener));
        for (const data of await missed()) subscriber.next(data);
        const late = waiting ?? [];
        waiting = undefined;
        for (const data of late) subscriber.next(data);
      };
      start().catch((error: unknown) => subscriber.error(error));
    });
  }

  /** Before the connections are closed. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    const { client, heard } = (await this.listening?.catch(() => undefined)) ?? {};
    await heard?.complete();
    await client?.end().catch(() => {});
  }

  /** The connection that listens, which is there once anybody has subscribed. */
  private listen(): Promise<Listening> {
    this.stopping.signal.throwIfAborted();
    if (!this.listening) {
      this.listening = this.connect();
      this.listening.catch(() => (this.listening = undefined));
    }
    return this.listening;
  }

  private async connect(): Promise<Listening> {
    const { DATABASE_DIRECT_URL, DATABASE_URL } = this.config;
    const client = new Client({
      connectionString: DATABASE_DIRECT_URL ?? DATABASE_URL,
      application_name: 'petstore-events',
      connectionTimeoutMillis: TIMEOUTS.connect,
      query_timeout: TIMEOUTS.silence,
      keepAlive: true,
    });
    const heard = new Telling();
    let isOver = false;
    const lose = (error?: Error) => {
      if (isOver) return;
      isOver = true;
      this.listening = undefined;
      if (!this.stopping.signal.aborted)
        this.logger.warn(
          `Events are lost until subscribers are back: ${error?.message ?? 'the connection has ended'}`,
        );
      void heard.complete();
      client.end(() => {});
    };
    client.on('error', lose);
    client.on('end', () => lose());
    client.on('notification', ({ payload = '' }) => {
      // Whoever may use the database may send on the channel too.
      const told = read(payload);
      if (told) heard.hear(told);
    });
    await client.connect();
    await client.query(`LISTEN ${CHANNEL}`).catch((error: Error) => {
      lose(error);
      throw error;
    });
    void this.watch(client, () => isOver, lose);
    return { client, heard };
  }

  /** Asks now and then, so that a connection which is broken without a word is noticed. */
  private async watch(client: Client, isOver: () => boolean, lose: (error: Error) => void): Promise<void> {
    const { signal } = this.stopping;
    while (!isOver() && !signal.aborted) {
      await sleep(LOOK_MS, undefined, { signal, ref: false }).catch(() => {});
      if (!isOver() && !signal.aborted) await client.query('SELECT 1').catch(lose);
    }
  }
}

function read(payload: string): Told | undefined {
  try {
    return JSON.parse(payload) as Told;
  } catch {
    return undefined;
  }
}
