import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { exchange, type Outcome } from './load.js';

const INTERVAL_MS = 100;

/** Requests one address again and again, as an orchestrator or a reader does, until stopped. */
export class Probe {
  readonly outcomes: Outcome[] = [];
  private readonly agent: Agent;
  private readonly running: Promise<void>;
  private readonly key?: string;
  private isStopped = false;

  /** @param keepAlive whether it keeps its connection, or opens a new one each time as orchestrators do */
  constructor(
    private readonly url: string,
    private readonly path: string,
    { keepAlive = false, key }: { keepAlive?: boolean; key?: string } = {},
  ) {
    this.agent = new Agent({ keepAlive });
    this.key = key;
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.running;
    this.agent.destroy();
  }

  private async run(): Promise<void> {
    while (!this.isStopped) {
      this.outcomes.push(await exchange(this.url, { path: this.path, key: this.key }, this.agent));
      await sleep(INTERVAL_MS);
    }
  }
}
