import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Database, Supply } from './database.js';
import type { Job, Load } from './load.js';
import { connectionOf, type Operation, OPERATIONS, type OperationName, takesPart } from './operations.js';
import { type RunningServer, type ServerName, SERVERS } from './servers.js';
import { cpuOf, cpuOfFamily, memoryOf } from './usage.js';

/** The figures of a server under a load. CPU is in µs per request. */
export interface Measurement extends Load {
  server: ServerName;
  operation: OperationName;
  connections: number;
  serverCpu: number;
  databaseCpu: number;
  /** MB after the load. */
  memory: number;
}

/** Each order uses up an animal, and each change an order: without more of them, a measurement ends. */
const SUPPLY_PER_SECOND = 6_000;
/** Length of the load before each measurement. */
const WARM_UP_SECONDS = 0.4;

/** Puts load on servers from a process of its own. */
export class Bench {
  private readonly loader: ChildProcess = fork(fileURLToPath(new URL('load.js', import.meta.url)));

  constructor(
    private readonly database: Database,
    private readonly key: string,
  ) {}

  /** Measures all servers of an operation under the same load: in every round, one by one, after a warm-up. */
  async compare(
    all: RunningServer[],
    operation: OperationName,
    connections: number,
    { rounds, seconds }: { rounds: number; seconds: number },
  ): Promise<Measurement[]> {
    const servers = all.filter(({ name }) => takesPart(name, operation));
    const measurements: Measurement[] = [];
    for (let round = 0; round < rounds; round++) {
      // The order changes, so that no server is always first or always follows the same server.
      const order = servers.map((_server, i) => servers[(i + round) % servers.length]!);
      for (const server of round % 2 ? order.toReversed() : order) {
        await this.load(server, operation, connections, WARM_UP_SECONDS);
        measurements.push(await this.measure(server, operation, connections, seconds));
      }
    }
    return measurements;
  }

  /** @throws Error if a request failed, as the figures would be wrong */
  async measure(
    server: RunningServer,
    operation: OperationName,
    connections: number,
    seconds: number,
  ): Promise<Measurement> {
    const { name, pid } = server;
    const job = await this.prepare(server, operation, connections, seconds);
    const cpu = cpuOf(pid);
    const databaseCpu = cpuOfFamily(this.database.postmaster);
    const load = await this.run(job);
    const failures = Object.entries(load.failures).map(([what, count]) => `${count} × ${what}`);
    if (failures.length > 0 || load.requests === 0) {
      const { title } = OPERATIONS[operation];
      throw new Error(`${SERVERS[name].title}, ${title}: ${failures.join(', ') || 'no answers'}`);
    }
    return {
      ...load,
      server: name,
      operation,
      connections,
      serverCpu: (cpuOf(pid) - cpu) / load.requests,
      databaseCpu: (cpuOfFamily(this.database.postmaster) - databaseCpu) / load.requests,
      cpu: load.cpu / load.requests,
      memory: memoryOf(pid),
    };
  }

  /** Load without a measurement, such as a warm-up; failures do not end it. */
  async load(
    server: RunningServer,
    operation: OperationName,
    connections: number,
    seconds: number,
  ): Promise<Load> {
    return this.run(await this.prepare(server, operation, connections, seconds));
  }

  close(): void {
    this.loader.disconnect();
  }

  private async prepare(
    { url, bearer = this.key }: RunningServer,
    operation: OperationName,
    connections: number,
    seconds: number,
  ): Promise<Job> {
    const { uses, isReplay, request }: Operation = OPERATIONS[operation];
    let supply: Supply | undefined;
    if (uses) supply = await this.database.addSupply(uses, Math.ceil(seconds * SUPPLY_PER_SECOND));
    for (let n = 0; n < (isReplay ? connections : 0); n++) {
      const { path, headers, ...rest } = request({ i: 0, connection: connectionOf(url, n) });
      const init = { ...rest, headers: { ...headers, Authorization: `Bearer ${bearer}` } };
      await (await fetch(url + path, init)).arrayBuffer();
    }
    return { url, bearer, operation, connections, seconds, supply };
  }

  private async run(job: Job): Promise<Load> {
    this.loader.send(job);
    const [load] = (await once(this.loader, 'message')) as [Load];
    return load;
  }
}
