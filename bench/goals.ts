import { OPERATIONS, type OperationName } from './operations.js';
import type { Row } from './summary.js';

const PEER = 'http';
const GOALS_FOR = new Set<OperationName>(['list', 'get', 'create', 'mix']);

/** What the service aims at beside its leanest peer, by the number of connections: ratios, service ÷ peer. */
const GOALS: Record<number, { rate: number; cpu: number; p99: number }> = {
  1: { rate: 0.9, cpu: 1.2, p99: 1.2 },
  16: { rate: 1.1, cpu: 0.9, p99: 1 },
  64: { rate: 1.5, cpu: 0.6, p99: 0.7 },
};

/** A Markdown section: what is aimed at, and what was reached; nothing if the peer was not measured. */
export function goalsOf(rows: readonly Row[]): string[] {
  const compared = rows.filter((row) => row.server === PEER && GOALS_FOR.has(row.operation));
  const lines = compared.flatMap((row) => lineOf(row) ?? []);
  if (lines.length === 0) return [];
  return [
    '## Goals, beside node:http + pg',
    '',
    'Service ÷ peer; CPU is that of the server and PostgreSQL together. ✓ reached, ✗ not.',
    '',
    '| Connections | Operation | req/s | CPU | p99 |',
    '| --: | --- | --: | --: | --: |',
    ...lines,
    '',
  ];
}

function lineOf({ connections, operation, rateRatio, cpuRatio, p99Ratio }: Row): string | undefined {
  const goal = GOALS[connections];
  if (!goal) return undefined;
  const cells = [
    verdict(rateRatio!, goal.rate, rateRatio! >= goal.rate, '≥'),
    verdict(cpuRatio!, goal.cpu, cpuRatio! <= goal.cpu, '≤'),
    verdict(p99Ratio!, goal.p99, p99Ratio! <= goal.p99, '≤'),
  ];
  return `| ${connections} | ${OPERATIONS[operation].title} | ${cells.join(' | ')} |`;
}

function verdict(ratio: number, goal: number, isReached: boolean, sign: string): string {
  return `${ratio.toFixed(2)} (${sign} ${goal}) ${isReached ? '✓' : '✗'}`;
}
