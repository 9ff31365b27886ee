import { AsyncLocalStorage } from 'node:async_hooks';
import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Client } from 'pg';
import { Observable, type Subscriber } from 'rxjs';
import { Config } from '../../config.js';
import { sessionClient, TIMEOUTS } from '../database/index.js';
import { Transactions } from './transactions.js';

const CHANNEL = 'petstore_events';

/** Maximum bytes of an event with its topic, as JSON: PostgreSQL limits a notification to less than 8,000. */
const MAX_BYTES = 7_999;

/** Milliseconds between probes, which detect a server that has disappeared without closing the connection. */
const PROBE_MS = 5_000;

interface Notification {
  topic: string;
  data: unknown;
}

/**
 * Number of listeners per turn of the event loop; each takes some 50 µs for an event. With 2,000 streams and
 * four events a second on a busy machine, the 99th percentile of another client's waits was 16 ms; with all
 * listeners in one turn, 128 ms.
 */
const BATCH = 50;

type Listener = Pick<Subscriber<unknown>, 'next' | 'complete'>;

/** The listeners of each topic. Events reach them in order, a batch of listeners at a time. */
class Listeners {
  private readonly byTopic = new Map<string, Set<Listener>>();
  private delivered: Promise<void> = Promise.resolve();

  /** @returns a function that removes the listener */
  add(topic: string, listener: Listener): () => void {
    const listeners = this.byTopic.get(topic) ?? new Set();
    this.byTopic.set(topic, listeners.add(listener));
    return () => {
      if (listeners.delete(listener) && listeners.size === 0) this.byTopic.delete(topic);
    };
  }

  publish({ topic, data }: Notification): void {
    const listeners = [...(this.byTopic.get(topic) ?? [])];
    if (listeners.length > 0) this.delivered = this.deliver(listeners, data, this.delivered);
  }

  private async deliver(listeners: Listener[], data: unknown, before: Promise<void>): Promise<void> {
    await before;
    for (const [i, listener] of listeners.entries()) {
      if (i > 0 && i % BATCH === 0) await nextTurn();
      listener.next(data);
    }
  }

  /** Delivers queued events, then completes all listeners. */
  async complete(): Promise<void> {
    await this.delivered;
    for (const listeners of this.byTopic.values()) for (const listener of [...listeners]) listener.complete();
  }
}

interface Subscription {
  client: Client;
  listeners: Listeners;
}

/**
 * Publishes events to all instances of the service within a second, by PostgreSQL's LISTEN and NOTIFY. Each
 * process that has subscribers opens one connection, past any pooler. An event only says that something has
 * changed: the change itself is in a table, where a subscriber that missed the event reads it.
 */
@Injectable()
export class Events implements BeforeApplicationShutdown {
  private readonly logger = new Logger(Events.name);
  private readonly stopping = new AbortController();
  /** Runs work outside of any request: the connection outlives the request that opens it. */
  private readonly outside = AsyncLocalStorage.snapshot();
  private subscription?: Promise<Subscription>;

  constructor(
    private readonly transactions: Transactions,
    private readonly config: Config,
  ) {}

  /**
   * Publishes an event to all subscribers of the topic: at once, or when the open transaction commits. A
   * transaction that is rolled back publishes nothing.
   * @param data JSON
   * @throws Error if topic and data exceed 7,999 bytes: publish an id, and let subscribers read the row
   */
  async publish(topic: string, data: unknown): Promise<void> {
    const text = JSON.stringify({ topic, data } satisfies Notification);
    if (Buffer.byteLength(text) > MAX_BYTES)
      throw new Error(`An event of ${topic} has more than ${MAX_BYTES} bytes as JSON: publish an id instead`);
    await this.transactions.manager.query('SELECT pg_notify($1, $2)', [CHANNEL, text]);
  }

  /**
   * The events of a topic from now on. The observable completes when the database connection is lost; events
   * may be lost too. An event stream then ends, its client reconnects with `Last-Event-ID`, and `missed`
   * reads the events after that id.
   * @param missed reads earlier events; called once subscribed, so some events may be delivered twice
   * @throws Error, answered with 503, if the database is away
   */
  of<T>(topic: string, missed: () => Promise<readonly T[]> = async () => []): Observable<T> {
    return new Observable((subscriber) => {
      // Events that arrive before `missed` has been read wait here.
      let waiting: T[] | undefined = [];
      const deliver = (data: T) => (waiting ? waiting.push(data) : subscriber.next(data));
      const start = async () => {
        const { listeners } = await this.listen();
        if (subscriber.closed) return;
        // Listeners run in the async context of the subscriber, not in that of the connection.
        const listener = {
          next: AsyncLocalStorage.bind((data: unknown) => deliver(data as T)),
          complete: AsyncLocalStorage.bind(() => subscriber.complete()),
        };
        subscriber.add(listeners.add(topic, listener));
        for (const data of await missed()) subscriber.next(data);
        const late = waiting ?? [];
        waiting = undefined;
        for (const data of late) subscriber.next(data);
      };
      start().catch((error: unknown) => subscriber.error(error));
    });
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    const { client, listeners } = (await this.subscription?.catch(() => undefined)) ?? {};
    await listeners?.complete();
    await client?.end().catch(() => {});
  }

  /** The listening connection, opened by the first subscriber. */
  private listen(): Promise<Subscription> {
    this.stopping.signal.throwIfAborted();
    if (!this.subscription) {
      this.subscription = this.outside(() => this.connect());
      this.subscription.catch(() => (this.subscription = undefined));
    }
    return this.subscription;
  }

  private async connect(): Promise<Subscription> {
    const session = sessionClient(this.config, 'petstore-events');
    const client = new Client({ ...session, query_timeout: TIMEOUTS.silence });
    const listeners = new Listeners();
    let hasEnded = false;
    let probe: NodeJS.Timeout | undefined;
    const end = (error?: Error) => {
      if (hasEnded) return;
      hasEnded = true;
      clearInterval(probe);
      this.subscription = undefined;
      if (!this.stopping.signal.aborted)
        this.logger.warn(
          `Events are lost until subscribers reconnect: ${error?.message ?? 'the connection has ended'}`,
        );
      void listeners.complete();
      client.end(() => {});
    };
    client.on('error', end);
    client.on('end', () => end());
    client.on('notification', ({ payload = '' }) => {
      // Any user of the database can send on the channel, so the payload may be invalid.
      const notification = parse(payload);
      if (notification) listeners.publish(notification);
    });
    await client.connect();
    await client.query(`LISTEN ${CHANNEL}`).catch((error: Error) => {
      end(error);
      throw error;
    });
    probe = setInterval(() => void client.query('SELECT 1').catch(end), PROBE_MS).unref();
    return { client, listeners };
  }
}

function parse(payload: string): Notification | undefined {
  try {
    return JSON.parse(payload) as Notification;
  } catch {
    return undefined;
  }
}
