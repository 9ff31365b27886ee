import 'reflect-metadata';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import '../../src/features.js';
import { call, createKey } from '../../src/testing/client.js';
import { query, type Service, startService } from '../../src/testing/service.js';
import { type Extended, startExtended } from '../support/extended.js';
import { times } from '../support/customer.js';
import { eventually } from '../support/npm.js';
import { turns } from '../../src/platform/process/shares.js';
import { setAhead } from '../support/passing-time.js';
import { RecordingsController, RowCounter } from '../support/recordings.controller.js';

let service: Service;
let key: string;
let extended: Extended;

beforeAll(async () => {
  service = await startService();
  key = await createKey(service);
  extended = await startExtended(service.databaseUrl, RecordingsController, RowCounter);
}, 60_000);
afterAll(async () => {
  await extended.stop();
  await service.stop();
});

const others = new Set<Extended>();

/** Another instance, which does not outlive its test. */
async function startOther(...given: Parameters<typeof startExtended>): Promise<Extended> {
  const other = await startExtended(...given);
  others.add(other);
  const stop = () => (others.delete(other) ? other.stop() : Promise.resolve());
  return { ...other, stop };
}

afterEach(async () => {
  setAhead(0);
  for (const other of others) await other.stop();
  others.clear();
});

type Sent = { method?: string; body?: string; headers?: Record<string, string> };

const auth = () => ({ Authorization: `Bearer ${key}` });
const ask = (path: string, options: Sent = {}, at = extended.url) =>
  fetch(`${at}/v1/recordings/${path}`, { ...options, headers: { ...auth(), ...options.headers } });
const say = (text: string, at = extended.url) =>
  ask(
    'said',
    { method: 'POST', body: JSON.stringify({ text }), headers: { 'Content-Type': 'application/json' } },
    at,
  );

/** The log's line of the request with an id, once it has ended. */
async function lineOf(requestId: string): Promise<Record<string, unknown>> {
  const find = () => extended.lines.find((line) => line.requestId === requestId && 'status' in line);
  await eventually(() => find() !== undefined);
  return find()!;
}

/** The value of a metric of the service. */
async function metric(name: string, at = extended.url): Promise<number> {
  const text = await (await fetch(`${at}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)![1]);
}

/**
 * What an operation answers that has no first byte in its time, which is over before that of one which was asked later, and has 3.5
 * seconds.
 */
async function answerInTime(path: string, requestId: string): Promise<number> {
  let isAnswered = false;
  const answer = ask(path, { headers: { 'X-Request-Id': requestId } }).finally(() => (isAnswered = true));
  await eventually(async () => isAnswered || (await metric('http_server_active_requests')) === 1);
  const later = `later-than-${requestId}`;
  await ask('patient', { headers: { 'X-Request-Id': later } });
  await Promise.all([lineOf(requestId), lineOf(later)]);
  const ended = extended.lines.filter((line) => 'status' in line).map((line) => line.requestId);
  expect(ended.indexOf(requestId)).toBeLessThan(ended.indexOf(later));
  return (await answer).status;
}

/** What a client sees of an answer that is read as slowly as `read` says. */
function open(path: string, requestId: string, localAddress?: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { ...auth(), 'X-Request-Id': requestId };
    httpGet(`${extended.url}/v1/recordings/${path}`, { headers, agent: false, localAddress }, resolve).on(
      'error',
      reject,
    );
  });
}

/** Reads an event stream into a text, until it ends. */
function hearing(response: Response): { text: () => string; ended: Promise<void> } {
  let text = '';
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) text += decoder.decode(chunk as Uint8Array, { stream: true });
  };
  return { text: () => text, ended: read() };
}

const WAYS = ['lines', 'piped', 'pipeline', 'generated'];

describe('A stream', () => {
  test.each(WAYS)(
    'goes on after the deadline as long as it is read, and is logged with its bytes: %s',
    async (way) => {
      const id = `slow-${way}`;
      const response = await ask(`${way}?lines=4&pauseMs=1100`, { headers: { 'X-Request-Id': id } });
      expect(response.status).toBe(200);
      expect(await response.text()).toHaveLength(4 * 1_024);
      const line = await lineOf(id);
      expect(line).toMatchObject({ status: 200, bytes: 4 * 1_024 });
      expect(line).not.toHaveProperty('aborted');
      expect(line.durationMs).toBeGreaterThan(3_000);
    },
  );

  test.each(WAYS)(
    'whose source fails midway is cut off, never complete, and logged once: %s',
    async (way) => {
      const id = `failing-${way}`;
      const response = await ask(`${way}?lines=1000&failsAfter=500`, { headers: { 'X-Request-Id': id } });
      expect(response.status).toBe(200);
      await expect(response.text()).rejects.toThrow();
      expect(await lineOf(id)).toMatchObject({ status: 200, aborted: true, code: 'internal_error' });
      const told = extended.lines.filter(({ requestId, msg }) => requestId === id && msg !== undefined);
      expect(told.map(({ msg }) => msg)).toEqual(['internal_error: Error: The source has failed']);
    },
  );

  test.each(WAYS)(
    'whose client leaves is logged as aborted, and its source is not read on: %s',
    async (way) => {
      const id = `left-${way}`;
      const response = await open(`${way}?lines=1000000`, id);
      await once(response, 'readable');
      response.destroy();
      const line = await lineOf(id);
      expect(line).toMatchObject({ status: 200, aborted: true });
      expect(line.bytes).toBeLessThan(100_000_000);
      expect(extended.lines.filter(({ requestId, level }) => requestId === id && level === 50)).toEqual([]);
    },
  );

  test('whose source gives nothing for 30 seconds is cut off, and the log says why', async () => {
    const response = await ask('lines?lines=2&pauseMs=60000', { headers: { 'X-Request-Id': 'stalled' } });
    const text = response.text();
    setAhead(20_000);
    await sleep(1_200);
    setAhead(0);
    expect(await Promise.race([text, Promise.resolve('open')])).toBe('open');
    setAhead(31_000);
    await expect(text).rejects.toThrow();
    expect(await lineOf('stalled')).toMatchObject({ status: 200, aborted: true, bytes: 1_024 });
    const told = extended.lines.filter(({ requestId, msg }) => requestId === 'stalled' && msg !== undefined);
    expect(told.map(({ msg }) => msg)).toEqual(['A stream was cut off: its source gave nothing']);
  });

  test('that cannot begin is an error like any other', async () => {
    const response = await ask('missing');
    expect([response.status, await response.json()]).toEqual([
      500,
      { code: 'internal_error', message: 'Something went wrong on our side.', status: 500 },
    ]);
  });

  test('whose first byte comes late is answered 503 in time', async () => {
    // The first line of a generator that Nest asks for before it sends anything.
    expect(await answerInTime('generated?lines=2&pauseMs=0&firstMs=10000', 'late')).toBe(503);
  });

  test('is counted as what it is, and not as work', async () => {
    const response = await open('lines?lines=1000000', 'counted');
    await once(response, 'readable');
    expect(await metric('http_server_active_streams')).toBe(1);
    expect(await metric('http_server_active_requests')).toBe(0);
    response.destroy();
    await eventually(async () => (await metric('http_server_active_streams')) === 0);
    expect(await metric('http_server_streams_total\\{end="aborted"\\}')).toBeGreaterThan(0);
  });
});

/** The connections of streams that the server has. */
async function streaming(): Promise<number> {
  const [row] = await query<{ count: number }>(
    service.databaseUrl,
    `SELECT count(*)::int AS count FROM pg_stat_activity
       WHERE application_name = 'petstore-streams' AND datname = current_database() AND state = 'active'`,
  );
  return row!.count;
}

describe('Rows from the database', () => {
  test('are sent however many they are, to the last', async () => {
    const response = await ask('rows?rows=600000&bytes=20');
    const lines = (await response.text()).split('\n');
    expect([response.status, lines.length, lines.at(-2)]).toEqual([200, 600_002, `600000,${'x'.repeat(20)}`]);
    expect(await (await ask('rows?rows=0')).text()).toBe('id,text\n');
    await eventually(async () => (await streaming()) === 0);
  });

  test('are fetched as they are read, for longer than any deadline, and no more when the client has left', async () => {
    const response = await open('rows?rows=100000000', 'left-rows');
    await once(response, 'readable');
    await sleep(3_500);
    expect(await streaming()).toBe(1);
    let read = 0;
    for await (const chunk of response) if ((read += (chunk as Buffer).length) > 10_000_000) break;
    expect(read).toBeGreaterThan(10_000_000);
    await eventually(async () => (await streaming()) === 0);
    expect(await lineOf('left-rows')).toMatchObject({ status: 200, aborted: true });
  });

  test('that are large are fetched few at a time', async () => {
    const before = process.memoryUsage.rss();
    const response = await open('rows?rows=2000&bytes=5000000', 'large-rows');
    await once(response, 'readable');
    await sleep(1_000);
    expect(process.memoryUsage.rss() - before).toBeLessThan(300_000_000);
    response.destroy();
    await eventually(async () => (await streaming()) === 0);
  });

  test('whose first comes late are answered 503 in time, and the database does not work on', async () => {
    expect(await answerInTime('rows?firstMs=60000', 'late-rows')).toBe(503);
    await eventually(async () => (await streaming()) === 0);
  });

  test('are refused 503 where all connections for them are taken, and no one client has them all', async () => {
    const taken = await Promise.all([1, 2, 3].map((i) => open('rows?rows=100000000', `taken-${i}`)));
    expect((await ask('rows')).status).toBe(503);
    const other = await open('rows?rows=100000000', 'other', '127.0.0.2');
    expect(other.statusCode).toBe(200);
    expect((await call({ ...service, url: extended.url }, 'GET', '/v1/pets', { key })).status).toBe(200);
    for (const response of [...taken, other]) response.destroy();
    await eventually(async () => (await streaming()) === 0);
    expect((await ask('rows')).status).toBe(200);
  });

  test('come from a query of the builder too', async () => {
    const response = await ask('built-rows?rows=2');
    expect([response.status, (await response.text()).split('\n')[0]]).toEqual([200, 'id,text']);
    const [names] = await query<{ names: string }>(
      service.databaseUrl,
      `SELECT string_agg(id || ',' || name, E'\\n' ORDER BY id) AS names FROM categories WHERE id <= 2`,
    );
    expect(await (await ask('built-rows?rows=2')).text()).toBe(`id,text\n${names!.names}\n`);
  });

  test('are read in a job, to the last, and the connection is free again', async () => {
    const headers = { 'Content-Type': 'application/json' };
    expect((await ask('counted', { method: 'POST', body: '{}', headers })).status).toBe(204);
    await eventually(() => RowCounter.counts.length > 0, 20_000);
    expect(RowCounter.counts).toEqual([100_000]);
    await eventually(async () => (await streaming()) === 0);
  }, 30_000);

  test('come from whichever of several hosts can be written', async () => {
    const { host } = new URL(service.databaseUrl);
    const several = service.databaseUrl.replace(host, `127.0.0.1:1,${host}`);
    const other = await startOther(several, RecordingsController);
    const response = await ask('rows?rows=5', {}, other.url);
    expect([response.status, (await response.text()).split('\n').length]).toEqual([200, 7]);
    await other.stop();
  });

  test('are an error like any other where the query is wrong, and the connection is free again', async () => {
    const statuses = await times(5, async () => (await ask('wrong-rows')).status);
    expect(statuses).toEqual(Array(5).fill(500));
    expect((await ask('rows')).status).toBe(200);
  });

  test('end with the connection where that is lost, never complete', async () => {
    const response = await ask('rows?rows=100000000', { headers: { 'X-Request-Id': 'lost-rows' } });
    await query(
      service.databaseUrl,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'petstore-streams'
         AND datname = current_database()`,
    );
    await expect(response.text()).rejects.toThrow();
    expect(await lineOf('lost-rows')).toMatchObject({ aborted: true, code: 'service_unavailable' });
  });
});

describe('Server-sent events', () => {
  test('reach all instances before fifty lists are answered in turn, whichever has them, for longer than any deadline', async () => {
    const other = await startOther(service.databaseUrl, RecordingsController, RowCounter);
    const heard = [extended.url, other.url].map(async (at) => {
      const response = await ask('heard', {}, at);
      expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
      return hearing(response);
    });
    const both = await Promise.all(heard);
    await sleep(3_500);
    expect((await say('from afar', other.url)).status).toBe(204);
    for (let i = 0; i < 50; i++)
      expect((await call({ ...service, url: other.url }, 'GET', '/v1/pets', { key })).status).toBe(200);
    for (const { text } of both) expect(text()).toContain('data: from afar');
    await other.stop();
    await both[1]!.ended;
  });

  test('end whole as soon as the service begins to stop, while it waits for a download', async () => {
    const other = await startOther(service.databaseUrl, RecordingsController);
    const heard = hearing(await ask('heard', {}, other.url));
    const download = await ask('lines?lines=1000&pauseMs=100', {}, other.url);
    let isStopped = false;
    const stop = other.stop().then(() => (isStopped = true));
    await heard.ended;
    const reading = download.body!.getReader();
    for (let i = 0; i < 3; i++) expect(await reading.read()).toMatchObject({ done: false });
    expect(isStopped).toBe(false);
    await reading.cancel();
    await stop;
  });

  test('go on after the one that a client names', async () => {
    for (const text of ['one', 'two', 'three']) await say(text);
    const first = hearing(await ask('heard'));
    await say('four');
    await eventually(() => first.text().includes('data: four'));
    const [, last] = /id: (\d+)\ndata: four/.exec(first.text())!;
    const again = hearing(await ask('heard', { headers: { 'Last-Event-ID': String(Number(last) - 2) } }));
    await eventually(() => again.text().includes('four'));
    expect([...again.text().matchAll(/data: (\w+)/g)].map(([, text]) => text)).toEqual(['three', 'four']);
  });

  test('end where the connection to the database is lost, and their client finds what it has missed', async () => {
    const before = hearing(await ask('heard'));
    await say('heard');
    await eventually(() => before.text().includes('data: heard'));
    const [, last] = /id: (\d+)\ndata: heard/.exec(before.text())!;
    await query(
      service.databaseUrl,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'petstore-events'
         AND datname = current_database()`,
    );
    await before.ended;
    await say('missed');
    const after = hearing(await ask('heard', { headers: { 'Last-Event-ID': last! } }));
    await eventually(() => after.text().includes('data: missed'));
    await say('heard again');
    await eventually(() => after.text().includes('data: heard again'));
  });

  test('have a comment after 15 seconds without one, and not before', async () => {
    const heard = hearing(await ask('heard'));
    await say('hello');
    await eventually(() => heard.text().includes('hello'));
    const before = heard.text();
    setAhead(8_000);
    await sleep(1_200);
    expect(heard.text()).toBe(before);
    setAhead(0);
    setAhead(15_000);
    await eventually(() => heard.text() === `${before}:\n\n`, 10_000);
  });

  test('are not sent for what is undone', async () => {
    const heard = hearing(await ask('heard'));
    const undone = { method: 'POST', body: '{"text":"undone"}' };
    const headers = { 'Content-Type': 'application/json' };
    expect((await ask('unsaid', { ...undone, headers })).status).toBe(204);
    await say('done');
    await eventually(() => heard.text().includes('data: done'));
    expect(heard.text()).not.toContain('undone');
  });

  test('of a process are 4,000 at most: one more of the same client is answered 503, another client has a place', async () => {
    const other = await startOther({ DATABASE_URL: service.databaseUrl, ROLE: 'api' }, RecordingsController);
    const open = (path: string, from = '127.0.0.1') => {
      const socket = connect({
        port: Number(new URL(other.url).port),
        host: '127.0.0.1',
        localAddress: from,
      });
      socket.on('error', () => {});
      socket.write(`GET /v1/recordings/${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
      return socket;
    };
    const begun = async (socket: Socket) => String(((await once(socket, 'data')) as [Buffer])[0]);
    const streams: Socket[] = [];
    const active = () => metric('http_server_active_streams', other.url);
    while (streams.length < 4_000) {
      const some = Array.from({ length: 100 }, () => open('heard'));
      streams.push(...some);
      for (const answer of await Promise.all(some.map(begun))) expect(answer).toMatch(/^HTTP\/1.1 200 /);
    }
    expect(await active()).toBe(4_000);
    const refused = await begun(open('heard'));
    expect(refused).toMatch(
      /^HTTP\/1.1 503 [^]*\r\nContent-Type: application\/json[^]*"code":"service_unavailable"/i,
    );
    let lost = 0;
    for (const socket of streams) socket.once('close', () => lost++);
    expect(await begun(open('heard', '127.0.0.2'))).toMatch(/^HTTP\/1.1 200 /);
    await eventually(() => lost > 0);
    expect(lost).toBe(1);
    expect(await active()).toBe(4_000);
    for (const socket of streams) socket.destroy();
    await other.stop();
  }, 60_000);

  test('are an error where they are larger than PostgreSQL takes', async () => {
    expect((await say('x'.repeat(9_000))).status).toBe(500);
  });

  test('are refused like anything else without a key', async () => {
    const response = await fetch(`${extended.url}/v1/recordings/heard`);
    expect([response.status, await response.json()]).toMatchObject([401, { code: 'missing_api_key' }]);
  });
});

describe('An operation with a time of its own', () => {
  const report = () => ask('report');

  test('that is longer than the operator allows ends the start, by its name', async () => {
    const env = { DATABASE_URL: service.databaseUrl, OPERATION_MAX_SECONDS: '9' };
    await expect(startExtended(env, RecordingsController)).rejects.toThrow(
      'OPERATION_MAX_SECONDS is 9, and getReport may take 10 seconds.',
    );
    await (await startExtended({ ...env, OPERATION_MAX_SECONDS: '10' }, RecordingsController)).stop();
  });

  test('has it from the database too, and leaves those without one their connections', async () => {
    // More than there are connections, all of one client.
    const reports = Array.from({ length: 30 }, report);
    const done = new AbortController();
    const first = Promise.race(reports).finally(() => done.abort());
    const lists: number[] = [];
    while (!done.signal.aborted)
      lists.push((await call({ ...service, url: extended.url }, 'GET', '/v1/pets', { key })).status);
    expect((await first).status).toBe(200);
    expect(new Set(lists)).toEqual(new Set([200]));
    // Each of them before the first report, so that none has waited for one.
    expect(lists.length).toBeGreaterThan(10);
    const statuses = (await Promise.all(reports)).map(({ status }) => status);
    // Two at a time, of which two take less than their ten seconds; for the others, the time was over while they waited.
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(4);
  });
});

/** Reads streams in a process of its own, as fast as it can, from two addresses. Resolves once all have begun. */
async function readAll(path: string, count: number): Promise<ChildProcess> {
  const { port } = new URL(extended.url);
  const request = `GET /v1/recordings/${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  const open = `(i) => require('net')
    .connect({ port: ${port}, host: '127.0.0.1', localAddress: '127.0.0.' + (1 + (i % 2)) })
    .once('data', () => console.log('begun'))
    .on('data', () => {})
    .write(${JSON.stringify(request)})`;
  const program = `for (let i = 0; i < ${count}; i++) (${open})(i);`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await eventually(() => said.split('begun').length > count);
  return child;
}

/** Keeps the event loop for so many milliseconds. */
function spin(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until;);
}

test('Streams take turns, client by client, and after each turn all others have as long as that took', async () => {
  const taken: { client: string; begun: number; ended: number }[] = [];
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const takers = ['a', 'b', 'b'].map((client) => {
    const taker = {
      client,
      goOn() {
        const begun = performance.now();
        spin(3);
        taken.push({ client, begun, ended: performance.now() });
        if (taken.length < 40) turns.add(taker);
        else end();
        return true;
      },
    };
    return taker;
  });
  let isOver = false;
  const others = () => {
    spin(0.5);
    if (!isOver) setImmediate(others);
  };
  others();
  for (const taker of takers) turns.add(taker);
  await over;
  isOver = true;
  for (const taker of takers) turns.delete(taker);
  const gaps = taken
    .slice(1)
    .map(({ begun }, i) => (begun - taken[i]!.ended) / (taken[i]!.ended - taken[i]!.begun));
  expect(Math.min(...gaps)).toBeGreaterThan(0.99);
  expect(taken.filter(({ client }) => client === 'a')).toHaveLength(20);
});

test.each([
  ['of the database', 'rows?rows=100000000', 4],
  ['of other sources', 'lines?lines=100000000', 24],
])(
  'Beside streams %s that are read as fast as they come, lists are answered',
  async (_which, path, count) => {
    const reading = await readAll(path, count);
    for (let i = 0; i < 20; i++)
      expect((await call({ ...service, url: extended.url }, 'GET', '/v1/pets', { key })).status).toBe(200);
    reading.kill('SIGKILL');
    await eventually(async () => (await streaming()) === 0);
  },
);
