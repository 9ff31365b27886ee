import { type Command, InvalidArgumentError } from 'commander';
import { openDatabase, type OpenDatabase, reachDatabase } from '../../platform/database/index.js';
import { isDatabaseUrl, OperatorError } from '../../platform/process/index.js';
import { runCommand } from '../command.js';
import { type Copied, copyData } from '../data/copy-data.js';
import { Progress } from '../seed/progress.js';
import { write } from './output.js';

interface Sides {
  from?: string;
  to?: string;
}

/** `data copy | serve` */
export function addDataCommands(program: Command): void {
  const data = program.command('data').description('move a whole database, or reach the embedded one');
  data
    .command('copy')
    .description('copy everything to or from another PostgreSQL server, and compare both')
    .option('--to <url>', 'an empty database to copy that of the configuration to', databaseUrl)
    .option('--from <url>', 'a database to copy to that of the configuration, which is empty', databaseUrl)
    .action((sides: Sides, command: Command) => {
      if ((sides.from === undefined) === (sides.to === undefined))
        command.error('error: give either --to or --from');
      return runCommand((database) => copy(database, sides), sides.to ? reachDatabase : openDatabase);
    });
  data
    .command('serve')
    .description('keep the embedded PostgreSQL running without the service, for other programs')
    .action(() => runCommand(serve));
}

async function copy({ config }: OpenDatabase, { from, to }: Sides): Promise<void> {
  const own = config.DATABASE_DIRECT_URL ?? config.DATABASE_URL!;
  let progress: Progress | undefined;
  const begun = performance.now();
  try {
    const tables = await copyData(from ?? own, to ?? own, (done, total) =>
      (progress ??= new Progress(total)).show(done),
    );
    progress?.end();
    report(tables, (performance.now() - begun) / 1_000);
  } catch (error) {
    progress?.end();
    throw error;
  }
}

function report(tables: Copied[], seconds: number): void {
  write(
    tables.map(({ table, rows, checksum }) => ({
      table: JSON.stringify(table),
      rows: String(rows),
      checksum,
    })),
    false,
  );
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const [count, rate] = [rows, rows / seconds].map((number) => Math.round(number).toLocaleString('en'));
  console.log(
    `Copied ${count} rows in ${seconds.toFixed(1)} s: ${rate} a second. Counts and checksums are the same in both.`,
  );
}

/** Runs until a signal ends it, which stops the server too. */
async function serve({ config, path, failure }: OpenDatabase): Promise<void> {
  if (path === undefined)
    throw new OperatorError('Nothing to serve: that database is running already (docs/operating.md).');
  console.log(config.DATABASE_URL);
  throw await failure;
}

function databaseUrl(text: string): string {
  if (!isDatabaseUrl(text)) throw new InvalidArgumentError('Must be a postgresql:// URL.');
  return text;
}
