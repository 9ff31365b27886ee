import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** What is measured: the built service, and its peers. */
export const SERVERS = {
  service: { title: 'Pet store service', main: root('dist/src/main.js') },
  http: { title: 'node:http + pg', main: root('dist-bench/bench/peers/http.js') },
  express: { title: 'Express 5 + pg', main: root('dist-bench/bench/peers/express.js') },
  fastify: { title: 'Fastify 5 + pg', main: root('dist-bench/bench/peers/fastify.js') },
  nest: { title: 'Nest as usual', main: root('dist-bench/bench/peers/nest/main.js') },
  transaction: { title: 'pg, in a transaction', main: root('dist-bench/bench/peers/transaction.js') },
  statement: { title: 'pg, in a statement', main: root('dist-bench/bench/peers/statement.js') },
};

/** How `npm start` starts the service. */
const START = { MALLOC_ARENA_MAX: '1' };

export type ServerName = keyof typeof SERVERS;

/** A server in a process of its own, listening. */
export interface RunningServer {
  name: ServerName;
  /** Address without a path. */
  url: string;
  process: ChildProcess;
  stop(): Promise<void>;
}

const running = new Set<RunningServer>();
const children = new Set<ChildProcess>();
// However the run ends, no server outlives it, as long as handlers still run.
process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')));

/**
 * Starts a server with default settings on a database, the service as `npm start` does. Its standard error is shown,
 * except for the log lines of requests.
 * @param flags options for Node
 * @param more further variables of its environment
 * @param main another program that is the service, with more in it
 */
export async function startServer(
  name: ServerName,
  databaseUrl: string,
  flags: string[] = [],
  more: Record<string, string> = {},
  main = SERVERS[name].main,
): Promise<RunningServer> {
  const environment = { ...(name === 'service' ? START : {}), ...more };
  const child = spawn(process.execPath, [...flags, main], {
    env: { ...environment, PATH: process.env.PATH, PORT: '0', HOST: '127.0.0.1', DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'pipe', 'pipe', ...(flags.length > 0 ? (['ipc'] as const) : [])],
  });
  children.add(child);
  createInterface({ input: child.stderr! }).on('line', showTrouble);
  const exit = once(child, 'exit').finally(() => children.delete(child));
  let output = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout!.on('data', (chunk: Buffer) => {
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
  const server = { name, url, process: child, stop };
  running.add(server);
  return server;
}

/** Stops all that are running. */
export async function stopAll(): Promise<void> {
  await Promise.allSettled([...running].map((server) => server.stop()));
}

function showTrouble(line: string): void {
  if (line && !line.includes('"level":"info"')) console.error(line);
}
