import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { call, createKey } from '../../src/testing/client.js';
import { createDatabase, type Service, startService } from '../../src/testing/service.js';
import { readMetrics, valueOf } from '../support/metrics.js';
import { endRuns, eventually, isServed, newFolder, nodeStart, removeFolders } from '../support/npm.js';

const WORKERS = '2';
const CONNECTIONS = 48;
/** More than any test but that of limits sends with one key. */
const LIMIT = 100;
let service: Service;
beforeAll(async () => {
  const env = { WORKERS, METRICS_PORT: '0', KEY_LIMIT_PER_MINUTE: String(LIMIT) };
  service = await startService(env);
});
afterAll(async () => {
  endRuns();
  await removeFolders();
});

function workers(): number[] {
  const all = execFileSync('ps', ['-eo', 'ppid=,pid=,args='], { encoding: 'utf8' }).split('\n');
  return all.flatMap((line) => {
    const [, parent, pid] = /^ *(\d+) +(\d+) .*(?:main|petstore)\.js/.exec(line) ?? [];
    return Number(parent) === service.process.pid ? [Number(pid)] : [];
  });
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
function everywhere<T>(send: () => Promise<T>, count = CONNECTIONS): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, send));
}

const listPets = (key: string) => call(service, 'GET', '/v1/pets', { key });
const statusesOf = (answers: { status: number }[]) => new Set(answers.map(({ status }) => status));
const metricsUrl = () => /Metrics +(\S+)/.exec(service.output())![1]!;
const metrics = () => readMetrics({ url: metricsUrl() });

test('The connections spread over the workers', async () => {
  // A busy machine may keep one of them from its share for a while.
  await eventually(async () => {
    const headers = { Authorization: `Bearer ${await createKey(service)}` };
    const from = service.output().length;
    await everywhere(async () => {
      const get = request(`${service.url}/v1/pets`, { headers, agent: false }).end();
      const [response] = (await once(get, 'response')) as [IncomingMessage];
      await once(response.resume(), 'end');
    });
    const line = /"pid":(\d+),[^\n]*"listPets"[^\n]*\n/g;
    const served = () => [...service.output().slice(from).matchAll(line)];
    await eventually(() => served().length === CONNECTIONS);
    const shares = [...Map.groupBy(served(), ([, pid]) => pid).values()];
    return shares.length === 2 && shares.every(({ length }) => length > CONNECTIONS / 8);
  });
});

test('Every worker reports the metrics of all workers', async () => {
  const key = await createKey(service);
  const countIn = (samples: Awaited<ReturnType<typeof metrics>>) =>
    valueOf(samples, 'http_server_request_duration_seconds_count', { operation: 'listPets' });
  const before = countIn(await metrics());
  await everywhere(() => listPets(key));
  const scrapes = await everywhere(metrics, 8);
  expect(new Set(scrapes.map(countIn))).toEqual(new Set([before + CONNECTIONS]));
  expect(valueOf(scrapes[0]!, 'petstore_database_connections_max')).toBe(2 * 10);
});

test('Forty scrapes at once ask each worker once, and add one listener', async () => {
  const scrapes = await everywhere(metrics, 40);
  expect(new Set(scrapes.map((samples) => JSON.stringify(samples))).size).toBe(1);
  expect(service.output()).not.toContain('MaxListenersExceededWarning');
});

test('The port of the API has no metrics, and that of the metrics nothing else', async () => {
  expect((await call(service, 'GET', '/metrics')).body).toMatchObject({ code: 'route_not_found' });
  for (const path of ['/v1/pets', '/metrics/more']) {
    const elsewhere = await fetch(new URL(path, metricsUrl()));
    expect([elsewhere.status, await elsewhere.json()]).toMatchObject([404, { code: 'route_not_found' }]);
  }
});

test('A worker that is suspended costs a scrape its own figures alone', async () => {
  const [stopped, other] = workers() as [number, number];
  const answered = (samples: Awaited<ReturnType<typeof metrics>>) =>
    [stopped, other].map((pid) => valueOf(samples, 'petstore_worker_answered', { pid: String(pid) }));
  expect(answered(await metrics())).toEqual([1, 1]);
  process.kill(stopped, 'SIGSTOP');
  // What was read just before is given again for a second.
  await eventually(async () => answered(await metrics())[0] === 0);
  for (const scrape of await everywhere(metrics, 40)) expect(answered(scrape)).toEqual([0, 1]);
});

test('A worker that does not answer for some seconds is replaced, and requests go to others', async () => {
  await eventually(() => /A worker has not answered for 5 seconds/.test(service.output()));
  await eventually(async () => valueOf(await metrics(), 'petstore_database_connections_max') === 2 * 10);
  const key = await createKey(service);
  expect(statusesOf(await everywhere(() => listPets(key)))).toEqual(new Set([200]));
});

test('The workers count the requests of a key together', async () => {
  const key = await createKey(service);
  const answers = await everywhere(() => listPets(key), LIMIT + 20);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(LIMIT);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(20);
});

test('A worker that is killed is replaced, and the other one goes on', async () => {
  const [killed, other] = workers() as [number, number];
  process.kill(killed, 'SIGKILL');
  await eventually(() => /A worker has ended with SIGKILL/.test(service.output()));
  await eventually(() => workers().length === 2);
  expect(workers()).toContain(other);
  expect(workers()).not.toContain(killed);
  // This client learns now that the killed worker has closed idle connections, on which its next request could be sent.
  await isServed(`${service.url}/health/live`);
});

/** A request whose head is accepted and whose body is still to come. */
async function acceptedPost(key: string): Promise<ClientRequest> {
  const type = { 'Content-Type': 'application/json' };
  const headers = { Authorization: `Bearer ${key}`, ...type, Expect: '100-continue' };
  const post = request(`${service.url}/v1/pets`, { method: 'POST', headers, agent: false });
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

// Last on this service, as it ends it.
test('Ctrl-C, which each worker receives, lets the workers finish accepted requests, and ends with 0', async () => {
  const key = await createKey(service);
  // One that has just been started in the place of another answers a moment later.
  await eventually(async () =>
    (await everywhere(() => listPets(key), 8)).every(({ status }) => status === 200),
  );
  const posts = await everywhere(() => acceptedPost(key), 8);
  const pids = workers();
  const ended = once(service.process, 'exit');
  for (const pid of [service.process.pid!, ...pids]) process.kill(pid, 'SIGINT');
  await eventually(async () => !(await isServed(`${service.url}/health/live`)));
  expect(await Promise.all(posts.map(finish))).toEqual(Array(8).fill(201));
  expect((await ended)[0]).toBe(0);
  expect(pids.filter(isThere)).toEqual([]);
  expect(service.output()).not.toContain('"level":"error"');
});

test('The workers share one embedded database, announced once, and end with a primary that is killed', async () => {
  const run = nodeStart({ DATA_DIR: newFolder(), WORKERS, LOG_LEVEL: 'warn' });
  const told = await run.ready();
  expect(run.stdout.match(/Pet store is running/g)).toHaveLength(1);
  expect(run.stdout).toMatch(/^ {2}Workers +2$/m);
  expect(run.stdout.match(/Demo key/g)).toHaveLength(1);
  expect(statusesOf(await everywhere(() => told.listPets()))).toEqual(new Set([200]));
  expect(run.stderr).toBe('');
  run.signal('SIGKILL');
  expect(await run.end).toBe('SIGKILL');
  await eventually(async () => !(await isServed(told.api)));
});

test('A start whose workers end at once is given up with 1 and one line of explanation', async () => {
  const crash = `--import=data:text/javascript,import'node:cluster';import{isWorker}from'node:cluster';if(isWorker)process.exit(7)`;
  const DATABASE_URL = await createDatabase('TEMPLATE migrated');
  const run = nodeStart({ DATABASE_URL, WORKERS, NODE_OPTIONS: crash });
  expect(await run.failure()).toMatch(
    /^petstore: The workers end as soon as they start: \d+ in a row, the last with exit code 7\.$/m,
  );
  expect(run.stdout).not.toContain('running');
});
