import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus } from 'node:os';

/** A Markdown table with aligned columns; all columns but the first `names` are numbers. */
export function toTable(head: string[], rows: string[][], names = 1): string {
  const widths = head.map((_cell, i) => Math.max(4, ...[head, ...rows].map((cells) => cells[i]!.length)));
  const pad = (cell: string, i: number) => (i < names ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!));
  const rule = widths.map((width, i) => '-'.repeat(width - (i < names ? 0 : 1)) + (i < names ? '' : ':'));
  return [head.map(pad), rule, ...rows.map((cells) => cells.map(pad))]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

/** The origin of figures: date, commit, machine and versions. */
export function provenance(postgres: string): string {
  const machine = `${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? process.arch})`;
  const date = new Date().toISOString().slice(0, 10);
  return `${date}, commit ${commit()}, ${machine}, Node ${process.versions.node}, ${postgres}`;
}

/** A number without decimals; a dash if the platform does not report the figure. */
export function whole(number: number): string {
  return Number.isNaN(number) ? '–' : Math.round(number).toLocaleString('en');
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2;
}

/** The commit of the working copy, marked if the service's sources differ from it. */
function commit(): string {
  try {
    const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
    const isChanged = git('status', '--porcelain', 'src', 'package.json') !== '';
    return git('rev-parse', '--short', 'HEAD') + (isChanged ? ' with changes' : '');
  } catch {
    return 'unknown';
  }
}
