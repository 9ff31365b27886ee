import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';

/** The folder of this package, whether its sources or its build are run. */
function packageFolder(): URL {
  let folder = new URL('.', import.meta.url);
  while (!existsSync(new URL('package.json', folder))) folder = new URL('..', folder);
  return folder;
}

/** The program that starts the service, with the features in the package.json of the working directory. */
const MAIN = [fileURLToPath(new URL('dist/src/commands/petstore.js', packageFolder())), 'start'];

/** Ends a process soon after its parent, even if SIGKILL ended the parent. Forked processes inherit this. */
const WITH_PARENT = `data:text/javascript,${encodeURIComponent(
  `const { ppid } = process;
   setInterval(() => process.ppid === ppid || process.kill(process.pid, 'SIGKILL'), 250).unref();`,
)}`;

/** The built service in a process of its own. */
export interface TestedService {
  /** Address without a path, e.g. `http://127.0.0.1:41234`. */
  url: string;
  databaseUrl: string;
  output(): string;
}

/** A service of one test file, with settings of its own. */
export interface Service extends TestedService {
  process: ChildProcess;
  /** Stops the service with SIGTERM; resolves to its exit code. */
  stop(): Promise<number | null>;
}

/**
 * The service that all test files of a run share, with default settings but for `AUTH_LIMIT_PER_MINUTE=0`. A file uses
 * accounts and categories of its own there; a file that needs settings, faults or an empty database starts its own service.
 */
export function sharedService(): TestedService {
  const { TEST_SERVICE } = process.env;
  if (!TEST_SERVICE) throw new Error('The global set-up of petstore/testing has not run.');
  const { outputFile, ...service } = JSON.parse(TEST_SERVICE);
  return { ...service, output: () => readFileSync(outputFile, 'utf8') };
}

/** Starts the shared service, for the global set-up; the service ends with this process. */
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

function addressIn(output: string): string | undefined {
  return /(?:API|Health) +(\S+?)\/(?:v1|health\/ready)\n/.exec(output)?.[1];
}

/** Starts a service, on a new database unless `env` names one. `openFiles` limits its file descriptors. */
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

/** Resolves to the service of a process when the process has printed the address. */
export async function listening(
  child: ChildProcessByStdio<null, Readable, Readable | null>,
  databaseUrl: string,
): Promise<Service> {
  const exit = once(child, 'exit') as Promise<[number | null]>;
  let output = '';
  let hasAddress = false;
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk.toString();
      // Only the start block has the address. Later output is not searched: under load, there is a lot of it.
      if (hasAddress) return;
      const found = addressIn(output);
      hasAddress = found !== undefined;
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

/** Creates a database on the PostgreSQL of the tests, empty unless `options` of CREATE DATABASE name a template. */
export async function createDatabase(options = ''): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await query(process.env.TEST_DATABASE_URL!, `CREATE DATABASE ${name} ${options}`);
  const url = new URL(process.env.TEST_DATABASE_URL!);
  url.pathname = `/${name}`;
  return url.href;
}

/** Runs a statement on a connection of its own, bypassing the service. */
export async function query<Row>(databaseUrl: string, sql: string, values: unknown[] = []): Promise<Row[]> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query(sql, values)).rows;
  } finally {
    await client.end();
  }
}

/** Waits until a condition holds, such as that a job has written a row. @throws Error after 20 seconds */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 20_000; !(await isSo()); await sleep(20))
    if (Date.now() > end) throw new Error(`Not so after 20 s: ${String(isSo)}`);
}
