import { createHistogram } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Clients } from './clients.js';
import { type Call, exchange } from './load.js';

const CLIENTS = 16;
/** Milliseconds between two turns of a client. */
const PAUSE_MS = 240;

export interface Seen {
  requests: number;
  failures: Record<string, number>;
  /** Milliseconds. */
  p50: number;
  p99: number;
}

/** Clients that list, fetch, add and order animals and submit messages, far below the machine's capacity. */
export class SteadyLoad extends Clients {
  /** The ids of the acknowledged animals, orders and messages, by the path of their POST. */
  readonly made: Record<string, string[]> = {};
  private latency = createHistogram();
  private failures: Record<string, number> = {};

  constructor(
    private readonly url: string,
    private readonly key: string,
    localAddress?: string,
  ) {
    super(CLIENTS, true, localAddress);
  }

  /** What has been measured since the previous call. */
  take(): Seen {
    const { latency, failures } = this;
    this.latency = createHistogram();
    this.failures = {};
    const percentile = (share: number) => latency.percentile(share) / 1_000;
    return { requests: latency.count, failures, p50: percentile(50), p99: percentile(99) };
  }

  protected async turn(): Promise<void> {
    for (const status of ['available', 'pending', 'sold'])
      await this.ask({ path: `/v1/pets?status=${status}` });
    const pet = await this.make('/v1/pets', { name: 'Luna', categoryId: 1, status: 'available' });
    if (pet) {
      await this.ask({ path: `/v1/pets/${pet}` });
      await this.make('/v1/store/orders', { petId: Number(pet) });
    }
    await this.make('/v1/messages', { message: 'Is Luna still available?' });
    await sleep(PAUSE_MS);
  }

  private async make(path: string, body: object): Promise<string | undefined> {
    const answer = await this.ask({ method: 'POST', path, body });
    if (!answer) return undefined;
    const id = String(JSON.parse(answer).id);
    (this.made[path] ??= []).push(id);
    return id;
  }

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
