import { Agent } from 'node:http';

/** Clients that each take one turn after another, until they are stopped. */
export abstract class Clients {
  protected readonly agent: Agent;
  private readonly running: Promise<void>[];
  private isStopped = false;

  /**
   * @param keepAlive whether connections are kept; otherwise each request opens a connection
   * @param localAddress the address that the clients connect from
   */
  constructor(count: number, keepAlive = true, localAddress?: string) {
    this.agent = new Agent({ keepAlive, localAddress });
    this.running = Array.from({ length: count }, (_none, client) => this.run(client));
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all(this.running);
    this.agent.destroy();
  }

  /** @param i the number of the client at its first turn, increased by one at each further turn */
  protected abstract turn(i: number): Promise<void>;

  private async run(client: number): Promise<void> {
    // The fields of a subclass exist only after this constructor.
    await Promise.resolve();
    for (let i = client; !this.isStopped; i++) await this.turn(i);
  }
}
