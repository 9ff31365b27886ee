import { setTimeout as sleep } from 'node:timers/promises';
import { Clients } from './clients.js';
import { exchange, type Outcome } from './load.js';

const INTERVAL_MS = 100;

/** Requests one address again and again, as an orchestrator or a reader does, until stopped. */
export class Probe extends Clients {
  readonly outcomes: Outcome[] = [];
  private readonly key?: string;

  /** @param keepAlive whether to keep the connection; orchestrators open a new one for each request */
  constructor(
    private readonly url: string,
    private readonly path: string,
    { keepAlive = false, key }: { keepAlive?: boolean; key?: string } = {},
  ) {
    super(1, keepAlive);
    this.key = key;
  }

  protected async turn(): Promise<void> {
    this.outcomes.push(await exchange(this.url, { path: this.path, key: this.key }, this.agent));
    await sleep(INTERVAL_MS);
  }
}
