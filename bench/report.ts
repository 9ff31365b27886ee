import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { drawChart } from './chart.js';
import { OPERATIONS } from './operations.js';
import { goalsOf } from './goals.js';
import type { Options } from './options.js';
import { SERVERS } from './servers.js';
import type { Row } from './summary.js';
import { commit } from './usage.js';

const COLUMNS: [title: string, read: (row: Row) => string][] = [
  ['req/s', ({ rate }) => whole(rate)],
  ['p50 ms', ({ p50 }) => p50.toFixed(2)],
  ['p99 ms', ({ p99 }) => p99.toFixed(2)],
  ['server CPU µs', ({ serverCpu }) => whole(serverCpu)],
  ['PostgreSQL CPU µs', ({ databaseCpu }) => whole(databaseCpu)],
  ['RSS MB', ({ memory }) => whole(memory)],
  ['req/s, service ÷ peer', ({ rateRatio }) => rateRatio?.toFixed(2) ?? ''],
  ['CPU of both, service ÷ peer', ({ cpuRatio }) => cpuRatio?.toFixed(2) ?? ''],
  ['p99, service ÷ peer', ({ p99Ratio }) => p99Ratio?.toFixed(2) ?? ''],
];

/** The rows for one number of connections, as text for a terminal. */
export function toText(rows: Row[]): string {
  const table = rows.map((row) => [
    OPERATIONS[row.operation].title,
    SERVERS[row.server].title,
    ...COLUMNS.map(([, read]) => read(row)),
  ]);
  const lines = [['', '', ...COLUMNS.map(([title]) => title)], ...table];
  const widths = lines[0]!.map((_cell, i) => Math.max(...lines.map((line) => line[i]!.length)));
  return lines
    .map((line) =>
      line.map((cell, i) => (i < 2 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  '),
    )
    .join('\n');
}

/** Writes the tables and the chart into a folder. */
export function writeReport(rows: Row[], options: Options, postgres: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  const charted = Math.max(...options.connections);
  const caption = `${charted} connections, ${machine()}`;
  const chart = drawChart(
    rows.filter(({ connections }) => connections === charted),
    caption,
  );
  writeFileSync(join(folder, 'chart.svg'), chart);
  writeFileSync(join(folder, 'README.md'), toMarkdown(rows, options, postgres));
}

function toMarkdown(rows: Row[], { connections, rounds, seconds }: Options, postgres: string): string {
  const loader = rows.map(({ loaderCpu }) => loaderCpu);
  return [
    '# Results',
    '',
    `${new Date().toISOString().slice(0, 10)}, commit ${commit()}, ${machine()}, ${postgres}, all on one machine: servers,`,
    `PostgreSQL and the load generator share its cores, so read the ratios. Medians of ${rounds} rounds of ${seconds} s each.`,
    `The load generator itself took ${whole(Math.min(...loader))} to ${whole(Math.max(...loader))} µs of CPU per request.`,
    '[How to read this](../README.md).',
    '',
    '![Server CPU per request](chart.svg)',
    '',
    ...goalsOf(rows),
    ...connections.flatMap((count) => [
      `## ${count} connections`,
      '',
      ...toMarkdownTable(rows.filter((row) => row.connections === count)),
      '',
    ]),
  ].join('\n');
}

function toMarkdownTable(rows: Row[]): string[] {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  const head = ['Operation', 'Server', ...COLUMNS.map(([title]) => title)];
  const body = rows.map((row, i) => {
    const isFirst = rows[i - 1]?.operation !== row.operation;
    const { title } = SERVERS[row.server];
    return [
      isFirst ? OPERATIONS[row.operation].title : '',
      row.server === 'service' ? `**${title}**` : title,
      ...COLUMNS.map(([, read]) => read(row)),
    ];
  });
  return [head, ['---', '---', ...COLUMNS.map(() => '--:')], ...body].map(line);
}

function machine(): string {
  return `${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? process.arch}), Node ${process.versions.node}`;
}

function whole(number: number): string {
  return Number.isNaN(number) ? '–' : Math.round(number).toLocaleString('en');
}
