import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { newSecret, STARTS } from '../../src/auth/secret.js';
import { call, createAccount, createKey, expectError, expectRevoked } from '../../src/testing/client.js';
import {
  endRuns,
  eventually,
  isServed,
  newFolder,
  nodeStart,
  npmStart,
  removeFolders,
} from '../support/npm.js';
import { createDatabase, query, type Service, startService } from '../../src/testing/service.js';

const WORKERS = '2';
const CONNECTIONS = 48;
/** A platform whose sockets cannot share a port, as far as the service can tell. */
const ELSEWHERE = `--import=data:text/javascript,Object.defineProperty(process,'platform',{value:'other'})`;

afterEach(endRuns);
afterAll(removeFolders);

function workersOf(primary: number): number[] {
  const all = execFileSync('ps', ['-eo', 'ppid=,pid=,args='], { encoding: 'utf8' }).split('\n');
  const children = all
    .map((line) => /^ *(\d+) +(\d+) .*(?:main|petstore)\.js/.exec(line))
    .filter((found) => found !== null);
  return children.filter(([, parent]) => Number(parent) === primary).map(([, , pid]) => Number(pid));
}

function isThere(pid: number): boolean {
  // A zombie, which nobody has waited for, is `Z`.
  try {
    return !execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).startsWith('Z');
  } catch {
    return false;
  }
}

/** Sends the same request on many connections at once. */
function everywhere<T>(send: () => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: CONNECTIONS }, send));
}

const listPets = (service: Service, key: string) => call(service, 'GET', '/v1/pets', { key });
const statusesOf = (answers: { status: number }[]) => new Set(answers.map(({ status }) => status));

/** The value of a metric, for one operation if it is given. */
function sampleOf(metrics: string, name: string, operation?: string): number {
  const lines = metrics.split('\n').filter((line) => line.startsWith(name) && line.includes(operation ?? ''));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

/** A request whose head is accepted and whose body is still to come. */
async function acceptedPost({ url }: Service, key: string): Promise<ClientRequest> {
  const headers = {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
    Expect: '100-continue',
  };
  const post = request(`${url}/v1/pets`, { method: 'POST', headers, agent: false });
  post.flushHeaders();
  await once(post, 'continue');
  return post;
}

async function finish(post: ClientRequest): Promise<number> {
  post.end(JSON.stringify({ name: 'Luna', categoryId: 1 }));
  const [response] = (await once(post, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode!;
}

test('serve on one port and one embedded database, which is printed once', async () => {
  const run = npmStart({ DATA_DIR: newFolder(), WORKERS, LOG_LEVEL: 'warn' });
  const told = await run.ready();
  expect(run.stdout.match(/Pet store is running/g)).toHaveLength(1);
  expect(run.stdout).toMatch(/^ {2}Workers +2$/m);
  expect(run.stdout.match(/Demo key/g)).toHaveLength(1);
  const opened = await everywhere(() => told.openLink());
  expect(opened.filter(({ status }) => status === 200)).toEqual([{ status: 200, key: told.key }]);
  expect(statusesOf(opened)).toEqual(new Set([200, 401]));
  expect(statusesOf(await everywhere(() => told.listPets()))).toEqual(new Set([200]));
  await run.stop();
  expect(await isServed(told.api)).toBe(false);
  expect(run.stderr).toBe('');
});

describe.each([
  ['where sockets can share a port', ''],
  ['where they cannot', ELSEWHERE],
])('%s', (_name, NODE_OPTIONS) => {
  let service: Service;
  let key: string;
  beforeAll(async () => {
    service = await startService({ WORKERS, NODE_OPTIONS });
    key = await createKey(service);
  });

  test('a code for the page at /docs is refused by every one, as none was offered', async () => {
    const answers = await everywhere(() => call(service, 'GET', '/docs/start', { key: newSecret(STARTS) }));
    for (const answer of answers) expectError(answer, 401, 'invalid_api_key');
  });

  test('the connections spread over the workers', async () => {
    const ask = async () => {
      const headers = { Authorization: `Bearer ${key}` };
      const get = request(`${service.url}/v1/pets`, { headers, agent: false }).end();
      const [response] = (await once(get, 'response')) as [IncomingMessage];
      await once(response.resume(), 'end');
    };
    // A busy machine may keep one of them from its share for a while.
    await eventually(async () => {
      const from = service.output().length;
      await everywhere(ask);
      const served = () => [
        ...service
          .output()
          .slice(from)
          .matchAll(/"pid":(\d+),[^\n]*"listPets"[^\n]*\n/g),
      ];
      await eventually(() => served().length === CONNECTIONS);
      const shares = [...Map.groupBy(served(), ([, pid]) => pid).values()];
      return shares.length === 2 && shares.every(({ length }) => length > CONNECTIONS / 8);
    });
  });

  test('a worker that is killed under load is replaced, and no acknowledged write is lost', async () => {
    const before = workersOf(service.process.pid!);
    const acknowledged: string[] = [];
    const over = new AbortController();
    const create = async (client: number) => {
      for (let i = 0; !over.signal.aborted; i++) {
        const body = { name: `Pet ${client}-${i}`, categoryId: 1, status: 'sold' };
        const { status } = await call(service, 'POST', '/v1/pets', { key, body }).catch(() => ({
          status: 0,
        }));
        if (status === 201) acknowledged.push(body.name);
      }
    };
    const clients = Array.from({ length: 8 }, (_none, client) => create(client));
    await eventually(() => acknowledged.length > 50);
    process.kill(before[0]!, 'SIGKILL');
    const at = acknowledged.length;
    await eventually(() => /A worker has ended with SIGKILL/.test(service.output()));
    await eventually(() => workersOf(service.process.pid!).length === 2 && acknowledged.length > at + 50);
    over.abort();
    await Promise.all(clients);
    expect(workersOf(service.process.pid!)).toContain(before[1]);
    const rows = await query<{ name: string }>(
      service.databaseUrl,
      `SELECT name FROM pets WHERE name LIKE 'Pet %'`,
    );
    const stored = new Set(rows.map(({ name }) => name));
    expect(acknowledged.filter((name) => !stored.has(name))).toEqual([]);
  });

  // Last, as it ends the service.
  test('SIGTERM lets every worker finish what it has accepted, and ends with 0', async () => {
    const posts = await Promise.all(Array.from({ length: 8 }, () => acceptedPost(service, key)));
    const workers = workersOf(service.process.pid!);
    const stopped = service.stop();
    await eventually(async () => !(await isServed(`${service.url}/health/live`)));
    expect(await Promise.all(posts.map(finish))).toEqual(Array(8).fill(201));
    expect(await stopped).toBe(0);
    expect(workers.filter(isThere)).toEqual([]);
  });
});

/** Asks for the metrics while one of the workers is stopped: they come in time, and say which of them has not answered. */
async function expectMetricsInTime(service: Service): Promise<void> {
  const workers = workersOf(service.process.pid!);
  const [stopped, other] = workers as [number, number];
  const address = /Metrics +(\S+)/.exec(service.output())?.[1] ?? `${service.url}/metrics`;
  const scrape = async () => {
    const begin = performance.now();
    const answer = await fetch(address, { headers: { Connection: 'close' } });
    const text = await answer.text();
    return { status: answer.status, text, ms: performance.now() - begin };
  };
  const answered = ({ text }: { text: string }, pid: number) =>
    sampleOf(text, 'petstore_worker_answered', `"${pid}"`);
  const before = await scrape();
  expect(workers.map((pid) => answered(before, pid))).toEqual([1, 1]);
  process.kill(stopped, 'SIGSTOP');
  // A connection that the system has given to the one that is stopped waits there.
  const all = Array.from({ length: 10 }, scrape);
  const first = await Promise.race(all);
  process.kill(stopped, 'SIGCONT');
  expect(first.ms).toBeLessThan(2_000);
  expect(first.status).toBe(200);
  expect([answered(first, stopped), answered(first, other)]).toEqual([0, 1]);
  expect(sampleOf(first.text, 'petstore_database_connections_max')).toBe(10);
  await Promise.all(all);
  const after = await scrape();
  expect(workers.map((pid) => answered(after, pid))).toEqual([1, 1]);
}

describe('as one service', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ WORKERS, LOG_LEVEL: 'error', SHUTDOWN_GRACE_MS: '500' });
  });

  // First, as it counts the requests of all tests.
  test('they report their metrics together, whichever of them is asked', async () => {
    const key = await createKey(service);
    await everywhere(() => listPets(service, key));
    const scrapes = await everywhere(() => call(service, 'GET', '/metrics'));
    const counts = scrapes.map(({ text }) =>
      sampleOf(text, 'http_server_request_duration_seconds_count', 'listPets'),
    );
    expect(new Set(counts)).toEqual(new Set([CONNECTIONS]));
    const { text } = scrapes[0]!;
    expect(sampleOf(text, 'petstore_database_connections_max')).toBe(2 * 10);
    expect(sampleOf(text, 'petstore_messages_queued')).toBe(0);
  });

  test('they report their metrics on the port of the API in time while one of them is stopped, and say which', () =>
    expectMetricsInTime(service));

  test('they refuse a revoked key at once, whichever of them revoked it', async () => {
    const account = await createAccount(service);
    const late: number[] = [];
    for (let i = 0; i < 5; i++) {
      const { body } = await call(service, 'POST', '/v1/api-keys', { account, body: { name: 'Till' } });
      const { id, key } = body as { id: number; key: string };
      expect(statusesOf(await everywhere(() => listPets(service, key)))).toEqual(new Set([200]));
      expect((await call(service, 'DELETE', `/v1/api-keys/${id}`, { account })).status).toBe(204);
      const revoked = Date.now();
      await expectRevoked(() => everywhere(() => listPets(service, key)));
      late.push(Date.now() - revoked);
    }
    // None of them forgets a key by itself that soon.
    expect(Math.min(...late)).toBeLessThan(400);
  });

  // Last, as it ends the service.
  test('they end with the primary, though one of them be stopped', async () => {
    const workers = workersOf(service.process.pid!);
    process.kill(workers[0]!, 'SIGSTOP');
    expect(await service.stop()).toBe(0);
    expect(workers.filter(isThere)).toEqual([]);
  });
});

describe('as one service with limits, and a port for metrics', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({
      WORKERS,
      LOG_LEVEL: 'error',
      METRICS_PORT: '0',
      KEY_LIMIT_PER_MINUTE: '20',
    });
  });

  test('they count the requests of a key together', async () => {
    const key = await createKey(service);
    const answers = await everywhere(() => listPets(service, key));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(CONNECTIONS - 20);
  });

  test('they report their metrics on a port of its own in time while one of them is stopped, and say which', () =>
    expectMetricsInTime(service));

  // Last, as it ends the service.
  test('they migrate once, and end with a primary that is killed', async () => {
    const rows = await query<{ name: string }>(service.databaseUrl, 'SELECT name FROM migrations');
    expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
    const workers = workersOf(service.process.pid!);
    expect(workers).toHaveLength(2);
    service.process.kill('SIGKILL');
    await eventually(() => !workers.some(isThere));
    expect(await isServed(service.url)).toBe(false);
  });
});

describe('as one service in a terminal', () => {
  test('they stop once on Ctrl-C, which each of them receives, with 0 and no output', async () => {
    const run = nodeStart({ DATABASE_URL: await createDatabase(), WORKERS });
    await run.ready();
    run.signalGroup('SIGINT');
    expect(await run.end).toBe(0);
    expect(run.stderr).toBe('');
    expect(run.stdout).not.toContain('ended');
  });
});

describe('a start', () => {
  const crash = `--import=data:text/javascript,import'node:cluster';import{isWorker}from'node:cluster';if(isWorker)process.exit(7)`;

  test('whose workers end at once is given up with 1 and one line of explanation', async () => {
    const run = nodeStart({ DATABASE_URL: await createDatabase(), WORKERS, NODE_OPTIONS: crash });
    const said = await run.failure();
    expect(said).toMatch(
      /^petstore: The workers end as soon as they start: \d+ in a row, the last with exit code 7\.$/m,
    );
    expect(run.stdout).not.toContain('running');
  });

  test('on a taken port is refused in one line', async () => {
    const taken = createServer().listen(0);
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const run = nodeStart({ DATABASE_URL: await createDatabase(), WORKERS, PORT: String(port) });
    expect(await run.failure()).toMatch(/^petstore: Port \d+ is taken\.[^\n]+\n$/);
    taken.close();
  });

  test.each(['0', '65', 'two', '-1'])('with %s workers is refused', async (workers) => {
    expect(await nodeStart({ WORKERS: workers }).failure()).toMatch(
      /^petstore: Invalid environment: WORKERS /,
    );
  });
});
