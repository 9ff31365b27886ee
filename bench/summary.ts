import type { Measurement } from './measure.js';
import { OPERATIONS } from './operations.js';
import { SERVERS } from './servers.js';
import { median, toTable, whole } from './table.js';

const HEAD = [
  ...['Operation', 'Server', 'req/s', 'p50 ms', 'p99 ms', 'server CPU µs', 'PostgreSQL CPU µs', 'RSS MB'],
  ...['req/s, service ÷ peer', 'CPU of both, service ÷ peer', 'p99, service ÷ peer'],
];

/** A table of medians over the rounds, with a line for each operation and server, in the order of their first figures. */
export function summarize(measurements: Measurement[]): string {
  const groups = Map.groupBy(measurements, ({ operation, server }) => `${operation} ${server}`);
  const rows = [...groups.values()].map(toRow);
  const lines = rows.map((row, i) => {
    const { operation, server, rate, p50, p99, serverCpu, databaseCpu, memory } = row;
    const isFirst = rows[i - 1]?.operation !== operation;
    const service = rows.find((one) => one.server === 'service' && one.operation === operation);
    return [
      isFirst ? OPERATIONS[operation].title : '',
      server === 'service' ? `**${SERVERS.service.title}**` : SERVERS[server].title,
      ...[whole(rate), p50.toFixed(2), p99.toFixed(2), whole(serverCpu), whole(databaseCpu), whole(memory)],
      ...ratiosOf(row, service),
    ];
  });
  return toTable(HEAD, lines, 2);
}

function toRow(rounds: Measurement[]) {
  const { server, operation } = rounds[0]!;
  const of = (name: 'p50' | 'p99' | 'serverCpu' | 'databaseCpu' | 'memory') =>
    median(rounds.map((round) => round[name]));
  const rate = median(rounds.map(({ requests, seconds }) => requests / seconds));
  const [serverCpu, databaseCpu] = [of('serverCpu'), of('databaseCpu')];
  return {
    server,
    operation,
    rate,
    p50: of('p50'),
    p99: of('p99'),
    serverCpu,
    databaseCpu,
    memory: of('memory'),
  };
}

type Row = ReturnType<typeof toRow>;

function ratiosOf(row: Row, service?: Row): string[] {
  if (!service || row === service) return ['', '', ''];
  const cpuOf = ({ serverCpu, databaseCpu }: Row) => serverCpu + databaseCpu;
  const ratios = [service.rate / row.rate, cpuOf(service) / cpuOf(row), service.p99 / row.p99];
  return ratios.map((ratio) => ratio.toFixed(2));
}
