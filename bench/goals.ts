import { OPERATIONS, type OperationName } from './operations.js';
import type { Row } from './summary.js';
import { type ServerName, SERVERS } from './servers.js';

/** What the service aims at beside a peer: ratios, service ÷ peer. */
interface Goal {
  rate: number;
  /** Of the server and PostgreSQL together. */
  cpu?: number;
  p99?: number;
}

/** The goals beside one peer, for some operations, by the number of connections. */
interface Aim {
  peer: ServerName;
  operations: readonly OperationName[];
  goals: Record<number, Goal>;
}

const AIMS: readonly Aim[] = [
  {
    peer: 'http',
    operations: ['list', 'get', 'create', 'mix'],
    goals: {
      1: { rate: 0.9, cpu: 1.2, p99: 1.2 },
      16: { rate: 1.1, cpu: 0.9, p99: 1 },
      64: { rate: 1.5, cpu: 0.6, p99: 0.7 },
    },
  },
  {
    peer: 'transaction',
    operations: ['keyed', 'keyedOrder', 'keyedMessage', 'change'],
    goals: { 1: { rate: 1, cpu: 1.2 }, 16: { rate: 1.3, cpu: 0.9 }, 64: { rate: 1.5, cpu: 0.7 } },
  },
  {
    peer: 'statement',
    operations: ['keyed', 'keyedOrder', 'keyedMessage', 'change'],
    goals: { 1: { rate: 0.7 }, 16: { rate: 0.8 }, 64: { rate: 1 } },
  },
];

/** Markdown sections: what is aimed at beside each peer that was measured, and what was reached. */
export function goalsOf(rows: readonly Row[]): string[] {
  return AIMS.flatMap(({ peer, operations, goals }) => {
    const compared = rows.filter((row) => row.server === peer && operations.includes(row.operation));
    const lines = compared.flatMap((row) => lineOf(row, goals[row.connections]) ?? []);
    if (lines.length === 0) return [];
    return [
      `## Goals, beside ${SERVERS[peer].title}`,
      '',
      'Service ÷ peer; CPU is that of the server and PostgreSQL together. ✓ reached, ✗ not.',
      '',
      '| Connections | Operation | req/s | CPU | p99 |',
      '| --: | --- | --: | --: | --: |',
      ...lines,
      '',
    ];
  });
}

function lineOf({ connections, operation, rateRatio, cpuRatio, p99Ratio }: Row, goal?: Goal) {
  if (!goal) return undefined;
  const cells = [
    verdict(rateRatio!, goal.rate, rateRatio! >= goal.rate, '≥'),
    verdict(cpuRatio!, goal.cpu, cpuRatio! <= goal.cpu!, '≤'),
    verdict(p99Ratio!, goal.p99, p99Ratio! <= goal.p99!, '≤'),
  ];
  return `| ${connections} | ${OPERATIONS[operation].title} | ${cells.join(' | ')} |`;
}

function verdict(ratio: number, goal: number | undefined, isReached: boolean, sign: string): string {
  if (goal === undefined) return ratio.toFixed(2);
  return `${ratio.toFixed(2)} (${sign} ${goal}) ${isReached ? '✓' : '✗'}`;
}
