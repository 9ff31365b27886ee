import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKey } from '../../src/testing/client.js';
import { query, type Service, startService } from '../../src/testing/service.js';
import { DatabaseServer } from './support/database-server.js';
import { countMissing, faultyOf } from './support/fault.js';
import { countStatuses, record } from './support/figures.js';
import { exchange, type Outcome, WriteLoad, writeOf } from './support/load.js';

let database: DatabaseServer;

beforeAll(async () => {
  database = await DatabaseServer.start();
});
afterAll(() => database.stop());

test('A service killed with -9 loses no acknowledged write, and a retry under its key writes no second row', async () => {
  const first = await startService({ DATABASE_URL: database.url });
  const key = await createKey(first);
  const load = new WriteLoad(first.url, key);
  await sleep(2_000);
  first.process.kill('SIGKILL');
  await load.stop();
  const begun = performance.now();
  const second = await startService({ DATABASE_URL: database.url });
  const recoveredS = (performance.now() - begun) / 1_000;
  const missing = await countMissing(database.url, load.acknowledged);
  const keyed = load.outcomes.filter(({ idempotencyKey }) => idempotencyKey);
  const retried = await retry(second, key, keyed);
  const rows = await query<{ text: string; count: number }>(
    database.url,
    `SELECT text, count(*)::int AS count
     FROM (SELECT name AS text FROM pets UNION ALL SELECT message FROM messages) AS written
     WHERE text = ANY($1) GROUP BY text`,
    [keyed.map(({ text }) => text)],
  );
  await second.stop();
  record(
    'Service killed',
    load.outcomes,
    `recovered in ${recoveredS.toFixed(2)} s; ${load.acknowledged.length} acknowledged; ${missing} missing`,
    `${keyed.length} keys tried again: ${countStatuses(retried)}, ${rows.length} rows`,
  );
  expect([missing, load.acknowledged.length > 100]).toEqual([0, true]);
  expect(rows).toHaveLength(keyed.length);
  expect(rows.filter(({ count }) => count !== 1)).toEqual([]);
  expect(differencesOf(keyed, retried)).toEqual([]);
});

/** Sends every request again under its key, eight at a time; a few may still be running in the database. */
async function retry(service: Service, key: string, outcomes: Outcome[]): Promise<Outcome[]> {
  const agent = new Agent({ keepAlive: true });
  const queue = [...outcomes.entries()];
  const retried: Outcome[] = [];
  const work = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) {
      const [i, before] = next;
      const again = await exchange(service.url, writeOf(before, key), agent);
      if (again.status === 409) queue.unshift(next);
      else retried[i] = again;
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  agent.destroy();
  return retried;
}

function differencesOf(before: Outcome[], after: Outcome[]): string[] {
  return before.flatMap(({ status, body }, i) => {
    const again = after[i]!;
    const isSame = again.status < 300 && (status === 0 || body === again.body);
    return isSame ? [] : [`${status} ${body} became ${again.status} ${again.body}`];
  });
}

test('SIGTERM under load lets every accepted request finish, and the process ends with 0', async () => {
  const service = await startService({ DATABASE_URL: database.url });
  const load = new WriteLoad(service.url, await createKey(service), { clients: 32 });
  const readiness = await beginReadiness(service);
  await sleep(1_500);
  const begun = performance.now();
  const stopped = service.stop();
  await sleep(20);
  const readinessStatus = await readiness.finish();
  const code = await stopped;
  const seconds = (performance.now() - begun) / 1_000;
  await load.stop();
  const missing = await countMissing(database.url, load.acknowledged);
  // A client whose connection is refused was never accepted.
  const accepted = load.outcomes.filter(({ failure }) => failure !== 'ECONNREFUSED');
  record(
    'SIGTERM under load',
    accepted,
    `${load.acknowledged.length} acknowledged; ${missing} missing`,
    `exit ${code} after ${seconds.toFixed(2)} s; ready ${readinessStatus}`,
  );
  expect(faultyOf(accepted)).toEqual([]);
  expect([code, missing, readinessStatus]).toEqual([0, 0, 503]);
  expect(seconds).toBeLessThan(10);
});

/** Requests readiness on a connection whose request is not finished before `finish`. */
async function beginReadiness(service: Service): Promise<{ finish(): Promise<number> }> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  socket.write('GET /health/ready HTTP/1.1\r\nHost: x\r\n');
  await once(socket, 'connect');
  const finish = async () => {
    socket.write('\r\n');
    const [head] = (await once(socket, 'data')) as [string];
    socket.destroy();
    return Number(head.split(' ')[1]);
  };
  return { finish };
}
