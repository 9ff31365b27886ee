import { Agent } from 'node:http';
import { createHistogram } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Call, exchange } from './load.js';

/** What clients have seen for some time. */
export interface Seen {
  requests: number;
  /** What was not answered with success, and how often. */
  failures: Record<string, number>;
  /** Milliseconds. */
  p50: number;
  p99: number;
}

/** Clients that list, fetch, add and order animals and submit messages, far below what the machine could do. */
export class SteadyLoad {
  /** The ids of the animals, orders and messages that were acknowledged, by the path that they were sent to. */
  readonly made: Record<string, string[]> = {};
  private readonly agent = new Agent({ keepAlive: true });
  private readonly clients: Promise<void>[];
  private latency = createHistogram();
  private failures: Record<string, number> = {};
  private isStopped = false;

  /** @param pauseMs between the requests of a client */
  constructor(
    private readonly url: string,
    private readonly key: string,
    { clients = 16, pauseMs = 30 } = {},
  ) {
    this.clients = Array.from({ length: clients }, () => this.run(pauseMs));
  }

  /** What has been seen since the last time. */
  take(): Seen {
    const { latency, failures } = this;
    this.latency = createHistogram();
    this.failures = {};
    const percentile = (share: number) => latency.percentile(share) / 1_000;
    return { requests: latency.count, failures, p50: percentile(50), p99: percentile(99) };
  }

  /** Lets each client finish its last request. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all(this.clients);
    this.agent.destroy();
  }

  private async run(pauseMs: number): Promise<void> {
    while (!this.isStopped) {
      for (const status of ['available', 'pending', 'sold'])
        await this.ask({ path: `/v1/pets?status=${status}` });
      const pet = await this.make('/v1/pets', { name: 'Luna', categoryId: 1, status: 'available' });
      if (pet) {
        await this.ask({ path: `/v1/pets/${pet}` });
        await this.make('/v1/store/orders', { petId: Number(pet) });
      }
      await this.make('/v1/messages', { message: 'Is Luna still available?' });
      await sleep(8 * pauseMs);
    }
  }

  private async make(path: string, body: object): Promise<string | undefined> {
    const answer = await this.ask({ method: 'POST', path, body });
    if (!answer) return undefined;
    const id = String(JSON.parse(answer).id);
    (this.made[path] ??= []).push(id);
    return id;
  }

  /** The body of an answer; undefined for a failure. */
  private async ask(call: Call): Promise<string | undefined> {
    const { status, failure, begun, ended, body } = await exchange(
      this.url,
      { ...call, key: this.key },
      this.agent,
    );
    this.latency.record(Math.max(1, Math.round((ended - begun) * 1_000)));
    if (status >= 200 && status < 300) return body;
    const what = failure ?? `${status} ${body}`;
    this.failures[what] = (this.failures[what] ?? 0) + 1;
    return undefined;
  }
}
