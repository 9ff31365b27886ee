import type { Measurement } from './measure.js';
import type { OperationName } from './operations.js';
import type { ServerName } from './servers.js';

/** The medians of one server under one load, over the rounds. CPU is in µs per request, latency in ms. */
export interface Row {
  server: ServerName;
  operation: OperationName;
  connections: number;
  rate: number;
  p50: number;
  p99: number;
  serverCpu: number;
  databaseCpu: number;
  loaderCpu: number;
  memory: number;
  /** The service's figure divided by this server's: above 1 it answers more. */
  rateRatio?: number;
  /** The same for CPU time, that of PostgreSQL included: below 1 the service needs less. */
  cpuRatio?: number;
  p99Ratio?: number;
}

/** One row for each operation, number of connections and server, in the order in which they first appear. */
export function summarize(measurements: Measurement[]): Row[] {
  const groups = Map.groupBy(measurements, (one) => `${one.connections} ${one.operation} ${one.server}`);
  const rows = [...groups.values()].map(toRow);
  return rows.map((row) => {
    const service = rows.find((one) => one.server === 'service' && isSameLoad(one, row));
    if (!service || row === service) return row;
    return {
      ...row,
      rateRatio: service.rate / row.rate,
      cpuRatio: cpuOf(service) / cpuOf(row),
      p99Ratio: service.p99 / row.p99,
    };
  });
}

function toRow(rounds: Measurement[]): Row {
  const { server, operation, connections } = rounds[0]!;
  const middle = (read: (one: Measurement) => number) => median(rounds.map(read));
  return {
    server,
    operation,
    connections,
    rate: middle((one) => one.requests / one.seconds),
    p50: middle((one) => one.p50),
    p99: middle((one) => one.p99),
    serverCpu: middle((one) => one.serverCpu),
    databaseCpu: middle((one) => one.databaseCpu),
    loaderCpu: middle((one) => one.cpu),
    memory: middle((one) => one.memory),
  };
}

function cpuOf({ serverCpu, databaseCpu }: Row): number {
  return serverCpu + databaseCpu;
}

function isSameLoad(one: Row, other: Row): boolean {
  return one.operation === other.operation && one.connections === other.connections;
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2;
}
