import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';

/** The folder of this package, whether its sources are run or what is built of them. */
function packageFolder(): URL {
  let folder = new URL('.', import.meta.url);
  while (!existsSync(new URL('package.json', folder))) folder = new URL('..', folder);
  return folder;
}

/** What starts the service, with the features that the package.json of the working directory names. */
const MAIN = [fileURLToPath(new URL('dist/src/commands/petstore.js', packageFolder())), 'start'];

/** Ends a process, and those that it starts, soon after that by which it was started: also one that was killed. */
const WITH_PARENT = `data:text/javascript,${encodeURIComponent(
  `const { ppid } = process;
   setInterval(() => process.ppid === ppid || process.kill(process.pid, 'SIGKILL'), 250).unref();`,
)}`;

/** The built service, listening in a process of its own. */
export interface TestedService {
  /** Address without a path, e.g. `http://127.0.0.1:41234`. */
  url: string;
  databaseUrl: string;
  /** What it has written so far. */
  output(): string;
}

/** A service that one test file has started, with settings of its own. */
export interface Service extends TestedService {
  process: ChildProcess;
  /** Ends it with SIGTERM; resolves to its exit code. */
  stop(): Promise<number | null>;
}

/**
 * The one service, with default settings but for `AUTH_LIMIT_PER_MINUTE=0`, that all test files of a run share. A file uses
 * accounts and categories of its own there; one that needs settings, faults or an empty database starts its own service.
 */
export function sharedService(): TestedService {
  const { TEST_SERVICE } = process.env;
  if (!TEST_SERVICE) throw new Error('The global set-up of petstore/testing has not run.');
  const { outputFile, ...service } = JSON.parse(TEST_SERVICE);
  return { ...service, output: () => readFileSync(outputFile, 'utf8') };
}

/** Starts the shared service, for the global set-up; it ends with this process. */
export async function startSharedService(folder: string): Promise<ChildProcess> {
  const databaseUrl = await createDatabase('TEMPLATE migrated');
  const outputFile = join(folder, 'service.log');
  const output = openSync(outputFile, 'a');
  const child = spawn(process.execPath, [`--import=${WITH_PARENT}`, ...MAIN], {
    env: environment({ DATABASE_URL: databaseUrl }),
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  for (let url; !url; await sleep(20)) {
    const written = readFileSync(outputFile, 'utf8');
    if (child.exitCode !== null) throw new Error(`The service ended with ${child.exitCode}: ${written}`);
    url = addressIn(written);
    process.env.TEST_SERVICE = JSON.stringify({ url, databaseUrl, outputFile });
  }
  return child;
}

/** What a service of the tests finds in its environment. */
function environment(env: Record<string, string>): Record<string, string | undefined> {
  return {
    PATH: process.env.PATH,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    PORT: '0',
    HOST: '127.0.0.1',
    AUTH_LIMIT_PER_MINUTE: '0',
    ...env,
  };
}

/** The address in the start block of a service, once it is complete. */
function addressIn(output: string): string | undefined {
  return /(?:API|Health) +(\S+?)\/(?:v1|health\/ready)\n/.exec(output)?.[1];
}

/**
 * Starts the service on a database of its own, unless `env` names one. `main` is another program to run, and `openFiles`
 * how many files it may have open.
 */
export async function startService(
  env: Record<string, string> = {},
  main: string | string[] = MAIN,
  openFiles?: number,
): Promise<Service> {
  const databaseUrl = env.DATABASE_URL ?? (await createDatabase('TEMPLATE migrated'));
  const own = [`--import=${WITH_PARENT}`, ...[main].flat()];
  const limited = ['-c', `ulimit -n ${openFiles} && exec "$0" "$@"`, process.execPath, ...own];
  const [program, args] = openFiles ? ['sh', limited] : [process.execPath, own];
  const child = spawn(program, args, {
    env: environment({ DATABASE_URL: databaseUrl, ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return listening(child, databaseUrl);
}

/** The service that a process is or runs, once it has told its address. */
export async function listening(
  child: ChildProcessByStdio<null, Readable, Readable | null>,
  databaseUrl: string,
): Promise<Service> {
  const exit = once(child, 'exit') as Promise<[number | null]>;
  let output = '';
  let isTold = false;
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk.toString();
      // A service under load writes much, and has printed its address long before.
      if (isTold) return;
      const found = addressIn(output);
      isTold = found !== undefined;
      if (found) resolve(found);
    };
    child.stdout.on('data', read);
    child.stderr?.on('data', read);
    child.once('exit', (code) => reject(new Error(`The service ended with ${code}: ${output}`)));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    return (await exit)[0];
  };
  return { url, databaseUrl, process: child, output: () => output, stop };
}

/**
 * Creates a database on the PostgreSQL of the tests, an empty one unless `options` name a template.
 * @param options those of CREATE DATABASE
 */
export async function createDatabase(options = ''): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await query(process.env.TEST_DATABASE_URL!, `CREATE DATABASE ${name} ${options}`);
  const url = new URL(process.env.TEST_DATABASE_URL!);
  url.pathname = `/${name}`;
  return url.href;
}

/** Runs one statement on a connection of its own, bypassing the service. */
export async function query<Row>(databaseUrl: string, sql: string, values: unknown[] = []): Promise<Row[]> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query(sql, values)).rows;
  } finally {
    await client.end();
  }
}

/** Cancels statements of a service that are under way, or closes their connections; any, but at most so many. */
export async function cutOff(
  { databaseUrl }: TestedService,
  how: 'pg_cancel_backend' | 'pg_terminate_backend',
  most: number,
): Promise<void> {
  await query(
    databaseUrl,
    `SELECT ${how}(pid) FROM pg_stat_activity WHERE application_name = 'petstore'
       AND datname = current_database() AND state <> 'idle' ORDER BY random() LIMIT $1`,
    [most],
  );
}

/** Keeps every query on a table waiting while `run` runs. */
export async function withTableLocked(
  { databaseUrl }: TestedService,
  table: string,
  run: () => Promise<void>,
): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(`BEGIN; LOCK TABLE ${table}`);
    await run();
  } finally {
    await client.end();
  }
}

/** Which of some texts are in a row of any table of a service, whose bytes are written in hexadecimal. */
export async function storedOf({ databaseUrl }: TestedService, texts: string[]): Promise<string[]> {
  const tables = await query<{ name: string }>(
    databaseUrl,
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  );
  const rows = tables.map(({ name }) => `SELECT to_jsonb(t)::text AS row FROM ${name} t`).join(' UNION ALL ');
  const sql = `SELECT DISTINCT text FROM unnest($1::text[]) AS text, (${rows}) AS r WHERE strpos(row, text) > 0`;
  return (await query<{ text: string }>(databaseUrl, sql, [texts])).map(({ text }) => text);
}
