import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Request } from 'autocannon';
import type { Database } from './database.js';
import type { Job, Load } from './load.js';
import { connectionTo, type Operation, OPERATIONS, type OperationName, takesPart } from './operations.js';
import type { Options } from './options.js';
import { type RunningServer, type ServerName, SERVERS } from './servers.js';
import { cpuOf, cpuOfFamily, memoryOf } from './usage.js';

/** One server under one load for a few seconds. CPU is in µs per request. */
export interface Measurement extends Load {
  server: ServerName;
  operation: OperationName;
  connections: number;
  serverCpu: number;
  databaseCpu: number;
  /** MB after the load. */
  memory: number;
}

/** Each order needs its own animal, and each change its own order. A server that is faster ends its measurement sooner. */
const SUPPLY_PER_SECOND = 6_000;

/** Puts load on servers from a process of its own. */
export class Bench {
  private readonly loader: ChildProcess = fork(fileURLToPath(new URL('load.js', import.meta.url)));

  constructor(
    private readonly database: Database,
    private readonly key: string,
  ) {}

  /** Measures every server that takes part under one load, in turn and again each round, each time after a warm-up. */
  async compare(
    all: RunningServer[],
    operation: OperationName,
    connections: number,
    options: Options,
  ): Promise<Measurement[]> {
    const servers = all.filter(({ name }) => takesPart(name, operation));
    const measurements: Measurement[] = [];
    for (let round = 0; round < options.rounds; round++) {
      // No server is always the first after a pause, or always follows the same other one.
      const order = servers.map((_server, i) => servers[(i + round) % servers.length]!);
      for (const server of round % 2 ? order.toReversed() : order) {
        await this.load(server, operation, connections, options.warmUpSeconds);
        measurements.push(await this.measure(server, operation, connections, options.seconds));
      }
    }
    return measurements;
  }

  /** @throws Error if a request failed: the figures would then mean something else */
  async measure(
    server: RunningServer,
    operation: OperationName,
    connections: number,
    seconds: number,
  ): Promise<Measurement> {
    const pid = server.process.pid!;
    const supply = await this.prepare(server, operation, connections, seconds);
    const cpu = cpuOf(pid);
    const databaseCpu = cpuOfFamily(this.database.postmaster);
    const load = await this.run({ url: server.url, key: this.key, operation, connections, seconds, supply });
    const failures = Object.entries(load.failures).map(([what, count]) => `${count} × ${what}`);
    if (failures.length > 0 || load.requests === 0) {
      const { title } = OPERATIONS[operation];
      throw new Error(`${SERVERS[server.name].title}, ${title}: ${failures.join(', ') || 'no answers'}`);
    }
    return {
      ...load,
      server: server.name,
      operation,
      connections,
      serverCpu: (cpuOf(pid) - cpu) / load.requests,
      databaseCpu: (cpuOfFamily(this.database.postmaster) - databaseCpu) / load.requests,
      cpu: load.cpu / load.requests,
      memory: memoryOf(pid),
    };
  }

  /** Only load: a warm-up, or one that continues whatever fails. */
  async load(
    server: RunningServer,
    operation: OperationName,
    connections: number,
    seconds: number,
  ): Promise<Load> {
    const supply = await this.prepare(server, operation, connections, seconds);
    return this.run({ url: server.url, key: this.key, operation, connections, seconds, supply });
  }

  close(): void {
    this.loader.disconnect();
  }

  private async prepare(
    { url }: RunningServer,
    operation: OperationName,
    connections: number,
    seconds: number,
  ): Promise<Job['supply']> {
    const load: Operation = OPERATIONS[operation];
    if (!('uses' in load)) {
      const names = Array.from({ length: connections }, (_none, i) => connectionTo(url, i));
      const requests = load.isRepetition ? names.flatMap(load.requests) : [];
      await Promise.all(requests.map((request) => this.send(url, request)));
      return undefined;
    }
    const count = Math.ceil(seconds * SUPPLY_PER_SECOND);
    return load.uses === 'pets'
      ? this.database.addAvailablePets(count)
      : this.database.addPlacedOrders(count);
  }

  private async send(url: string, { method, path, headers, body }: Request): Promise<void> {
    const all = { Authorization: `Bearer ${this.key}`, ...(headers as Record<string, string>) };
    const response = await fetch(url + path, { method, headers: all, body: body as string });
    if (!response.ok) throw new Error(`${url}${path} answered ${response.status}: ${await response.text()}`);
    await response.arrayBuffer();
  }

  private async run(job: Job): Promise<Load> {
    this.loader.send(job);
    const [load] = (await once(this.loader, 'message')) as [Load];
    return load;
  }
}
