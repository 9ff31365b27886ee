import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { EMAIL } from './database.js';

const root = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** The servers: the built service, and its peers. */
export const SERVERS = {
  service: { title: 'Pet store service', main: root('dist/src/main.js') },
  token: { title: 'Service, with tokens', main: root('dist/src/main.js') },
  http: { title: 'node:http + pg', main: root('dist-bench/bench/peers/http.js') },
  transaction: { title: 'pg, in a transaction', main: root('dist-bench/bench/peers/transaction.js') },
  statement: { title: 'pg, in a statement', main: root('dist-bench/bench/peers/statement.js') },
};

export type ServerName = keyof typeof SERVERS;

/** A server in a process of its own, listening. */
export interface RunningServer {
  name: ServerName;
  /** Address without a path. */
  url: string;
  pid: number;
  /** Credential of its requests, if it is not the API key of the run. */
  bearer?: string;
  stop(): Promise<void>;
}

const running = new Set<RunningServer>();
const children = new Set<ChildProcess>();
// No server outlives the run, unless the run is killed.
process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')));

/**
 * Starts a server with default settings on a database, the service as `npm start` does.
 * Shows its standard error without the log lines of requests.
 * @param env further variables of its environment
 * @param main another program that starts the service
 */
export async function startServer(
  name: ServerName,
  databaseUrl: string,
  env: Record<string, string> = {},
  main = SERVERS[name].main,
): Promise<RunningServer> {
  const { PATH } = process.env;
  const settings = { PATH, PORT: '0', HOST: '127.0.0.1', DATABASE_URL: databaseUrl, MALLOC_ARENA_MAX: '1' };
  const child = spawn(process.execPath, [main], {
    env: { ...settings, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  createInterface({ input: child.stderr }).on('line', showTrouble);
  const exit = once(child, 'exit').finally(() => children.delete(child));
  let output = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const found = /(?:API|Health) +(\S+)\/(?:v1|health)/.exec(output)?.[1];
      if (found) resolve(found.replace('localhost', '127.0.0.1'));
    });
    child.once('exit', (code) => reject(new Error(`${SERVERS[name].title} ended with ${code}: ${output}`)));
  });
  const stop = async () => {
    running.delete(server);
    child.kill('SIGTERM');
    await exit;
  };
  const server = { name, url, pid: child.pid!, stop };
  running.add(server);
  return server;
}

/** Stops all running servers. */
export async function stopAll(): Promise<void> {
  await Promise.allSettled([...running].map((server) => server.stop()));
}

/** A key of the account with this email, created by the API. */
export async function createKey({ url }: RunningServer, email = EMAIL): Promise<string> {
  const account = { email, password: 'correct horse battery' };
  const basic = Buffer.from(`${account.email}:${account.password}`).toString('base64');
  await post(`${url}/v1/accounts`, account);
  const { key } = await post(`${url}/v1/api-keys`, { name: 'bench' }, { Authorization: `Basic ${basic}` });
  return key!;
}

/** @throws Error for an answer that is no success */
export async function post(url: string, body: object, headers = {}): Promise<{ key?: string }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as { key?: string };
}

function showTrouble(line: string): void {
  if (line && !line.includes('"level":"info"')) console.error(line);
}
