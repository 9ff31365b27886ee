import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Prints the effect of every fault on the service, as one table, and removes what the tests left. */
export default function tearDown() {
  const folder = process.env.FAULTS_FOLDER;
  const file = join(folder, 'figures.jsonl');
  if (existsSync(file)) {
    const rows = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    process.stdout.write(`\n${tableOf(rows)}\n`);
  }
  rmSync(folder, { recursive: true, force: true });
}

const COLUMNS = ['fault', 'statuses', 'slowest ms', 'recovered s', 'acknowledged', 'missing', 'beside'];

function tableOf(rows) {
  const cells = [COLUMNS, ...rows.map((row) => COLUMNS.map((name) => String(row[name] ?? '')))];
  const widths = COLUMNS.map((_name, i) => Math.max(...cells.map((line) => line[i].length)));
  const lines = cells.map((line) => `| ${line.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`);
  lines.splice(1, 0, `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`);
  return lines.join('\n');
}
