import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdings } from '../../src/platform/process/shares.js';
import { LastInLine, Overload } from '../../src/platform/server/overload.js';
import { call, createAccount, createKey } from '../../src/testing/client.js';
import { Customer } from '../support/customer.js';
import { readMetrics, valueOf } from '../support/metrics.js';
import { eventually } from '../support/npm.js';
import { query, type Service, startService, withTableLocked } from '../../src/testing/service.js';

let service: Service;
let key: string;
const sockets: Socket[] = [];
const PET = '{"name":"Rex","categoryId":1}';

beforeAll(async () => {
  service = await startService();
  key = await createKey(service);
});
afterEach(() => sockets.splice(0).forEach((socket) => socket.destroy()));
afterAll(() => service.stop());

/** A connection that reads nothing unless it is told to. */
function open(bytes: string, localAddress?: string): Socket {
  const { hostname, port } = new URL(service.url);
  const socket = connect({ host: hostname, port: Number(port), localAddress }).on('error', () => {});
  sockets.push(socket);
  socket.write(bytes);
  return socket;
}

/** Everything that the service sends over a connection until it closes that. */
async function sentFor(bytes: string, localAddress?: string): Promise<string> {
  const socket = open(bytes, localAddress);
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  // Not `once`, which a reset would end with an error.
  await new Promise((resolve) => socket.once('close', resolve));
  return text;
}

const statusesIn = (text: string) =>
  (text.match(/HTTP\/1\.1 \d+/g) ?? []).map((line) => Number(line.slice(9)));

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;

/** The largest answer that needs no key. */
async function largest(): Promise<string> {
  const { text } = await call(service, 'GET', '/docs');
  return `/${/src="(assets\/\w+\/)/.exec(text)![1]!}swagger-ui-bundle.js`;
}

const post = (body: string, path = '/v1/pets') =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n');

/** A request for the document, as a host of that name. */
const documentBy = (host: string) =>
  `GET /openapi.json HTTP/1.1\r\nHost: ${host}\r\nAccept-Encoding: br\r\n\r\n`;

/** Resident memory of a service, in MiB. */
const memoryOf = ({ process: { pid } }: Service) =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1_024;

/** How many connections to a service are open, at its end: neither those that it listens on nor those that wait out TCP's time. */
function connectionsOf({ url }: Service): number {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0');
  const tables = ['tcp', 'tcp6'].map((name) => readFileSync(`/proc/net/${name}`, 'utf8')).join('');
  return tables.match(new RegExp(`^ *\\d+: \\w+:${port} \\w+:\\w+ 0[^6A]`, 'gm'))?.length ?? 0;
}

const postCategory = (name: string) => post(JSON.stringify({ name }), '/v1/categories');

/** How many wait for a connection to the database. */
const inLine = async () => valueOf(await readMetrics(service), 'petstore_database_waiting');

/** What good clients are answered now, fifty at a time. */
async function statusesOfOthers(): Promise<number[]> {
  const body = { name: 'Rex', categoryId: 1 };
  const both = () => [
    call(service, 'GET', '/v1/pets', { key }),
    call(service, 'POST', '/v1/pets', { key, body }),
  ];
  const answers = await Promise.all(Array.from({ length: 25 }, both).flat());
  return [...new Set(answers.map(({ status }) => status))].toSorted((a, b) => a - b);
}

describe('Others are served', () => {
  test('while clients ask for much and read nothing', async () => {
    const path = await largest();
    for (let i = 0; i < 5; i++)
      open(
        get(path)
          .replace(/Authorization.*\r\n/, '')
          .repeat(2_400),
      );
    await sleep(2_000);
    expect(await statusesOfOthers()).toEqual([200, 201]);
  });

  test('while one of them has a hundred transactions wait', async () => {
    const customer = await Customer.of(service);
    const { id } = await customer.orderAt('placed');
    const change = post('{"status":"approved"}', `/v1/store/orders/${id}`)
      .replace('POST', 'PATCH')
      .replace(key, customer.key);
    const ready = 'GET /health/ready?by=probe HTTP/1.1\r\nHost: x\r\n\r\n';
    const statuses: number[] = [];
    await withTableLocked(service, 'orders', async () => {
      // Each asks again when it is answered, so that a slow machine has no more to do than a fast one.
      const again = async (socket: Socket) => {
        await sleep(100);
        socket.write(change);
      };
      for (let i = 0; i < 100; i++) {
        const socket = open(change);
        socket.on('data', () => void again(socket));
      }
      await eventually(async () => (await inLine()) > 20);
      const used = valueOf(await readMetrics(service), 'petstore_database_connections', { state: 'used' });
      expect(used).toBeLessThan(10);
      for (let i = 0; i < 5; i++) {
        await eventually(async () => (await inLine()) > 20);
        // Whoever asks first asks for all.
        open(ready);
        const keyed = post(PET).replace('Host: x', `Host: x\r\nIdempotency-Key: ${i}`);
        const others = get('/v1/pets') + ready + post(PET) + keyed;
        statuses.push(...statusesIn(await sentFor(`${others}bad\r\n\r\n`, '127.0.0.2')));
      }
    });
    expect([...new Set(statuses)]).toEqual([200, 201, 400]);
  });

  test('while hundreds ask for the document by names that they make up', async () => {
    const account = await createAccount(service);
    await call(service, 'GET', '/openapi.json');
    const before = memoryOf(service);
    const flood = Array.from({ length: 500 }, () => open(documentBy(randomUUID()), '127.0.0.2'));
    const seen = { answers: 0 };
    for (const socket of flood) {
      let rest = 0;
      socket.on('data', (chunk: Buffer) => {
        // The head of an answer comes in one piece; the rest is not looked at, so that the machine is left to the service.
        const head = rest > 0 ? '' : chunk.toString('latin1', 0, 1_000);
        const length = /content-length: (\d+)\r\n/i.exec(head)?.[1];
        if (length) rest = Number(length) + head.indexOf('\r\n\r\n') + 4;
        rest -= chunk.length;
        if (rest > 0) return;
        seen.answers++;
        socket.write(documentBy(randomUUID()));
      });
    }
    const logIns: { status: number; ms: number }[] = [];
    while (logIns.length < 20 || seen.answers < 2_000) {
      const begin = performance.now();
      const { status } = await call(service, 'GET', '/v1/accounts/current', { account });
      logIns.push({ status, ms: performance.now() - begin });
    }
    expect(new Set(logIns.map(({ status }) => status))).toEqual(new Set([200]));
    expect(Math.max(...logIns.map(({ ms }) => ms))).toBeLessThan(3_000);
    expect(memoryOf(service) - before).toBeLessThan(250);
  }, 60_000);

  test('and nothing fails when clients are gone before their document is sent', async () => {
    const flood = Array.from({ length: 50 }, () =>
      open(documentBy('x.example').repeat(40), '127.0.0.5').resume(),
    );
    for (const socket of flood) {
      await sleep(10);
      socket.resetAndDestroy();
    }
    await sleep(500);
    expect(service.output()).not.toContain('internal_error');
  });

  test('while thousands of bodies never end', async () => {
    const head = 'POST /v1/accounts HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
    for (let i = 0; i < 2_500; i++) open(`${head}Content-Length: 100\r\n\r\n{`);
    await eventually(() => sockets.every((socket) => !socket.connecting));
    await sleep(1_000);
    expect(await statusesOfOthers()).toEqual([200, 201]);
  });
});

describe('One connection', () => {
  // The clients of thousands of bodies have just left: others get their document once the service has seen it.
  beforeAll(() => eventually(async () => (await call(service, 'GET', '/docs')).status === 200));

  test('is cut off when it has read nothing for 30 s', async () => {
    const path = await largest();
    const stuck = open(get(path).repeat(20));
    const reading = open(get(path).repeat(20));
    const drip = setInterval(() => stuck.write('GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n'), 1_000);
    reading.resume();
    await sleep(32_500);
    clearInterval(drip);
    stuck.resume();
    await eventually(() => stuck.destroyed);
    expect(reading.destroyed).toBe(false);
  }, 45_000);

  test('may have a hundred requests pending, which are answered in their order', async () => {
    const ids = (await query<{ id: string }>(service.databaseUrl, 'SELECT id FROM categories')).map(
      ({ id }) => id,
    );
    const paths = Array.from({ length: 100 }, (_, i) => `/v1/categories/${ids[i % ids.length]}`);
    const text = await sentFor(`${paths.map(get).join('')}bad\r\n\r\n`);
    expect(statusesIn(text)).toEqual([...Array(100).fill(200), 400]);
    const order = [...text.matchAll(/\{"id":(\d+)/g)].map(([, id]) => `/v1/categories/${id}`);
    expect(order).toEqual(paths);
  });

  test('has its writes made one after the other, and seen by what it asks after them', async () => {
    const names = Array.from({ length: 10 }, () => randomUUID());
    const list = get('/v1/categories?limit=100');
    const text = await sentFor(`${names.map((name) => postCategory(name) + list).join('')}bad\r\n\r\n`);
    const answers = text.split('HTTP/1.1 ').slice(1);
    expect(answers.map((answer) => answer.slice(0, 3))).toEqual([
      ...names.flatMap(() => ['201', '200']),
      '400',
    ]);
    names.forEach((name, i) => expect(answers[2 * i + 1]).toContain(name));
  });

  test('has all that it sends at once answered within 3 s, whatever its turn', async () => {
    await withTableLocked(service, 'pets', async () => {
      const begin = performance.now();
      const statuses = statusesIn(await sentFor(`${get('/v1/pets/1').repeat(100)}bad\r\n\r\n`));
      expect(statuses).toEqual([...Array(100).fill(503), 400]);
      expect(performance.now() - begin).toBeLessThan(3_500);
    });
  });

  const early = {
    401: ['POST /v1/pets', ''],
    404: ['POST /v1/nothing', ''],
    405: ['PUT /v1/pets', ''],
    400: ['POST /v1/pets', 'Authorization: Bearer KEY\r\nContent-Type: text/plain\r\n'],
    413: ['POST /v1/pets', 'Authorization: Bearer KEY\r\nContent-Type: application/json\r\n'],
  } as const;

  /** Answered before half of a body has been sent; `rest` follows the other half. */
  async function afterEarly(status: keyof typeof early, rest: string): Promise<string> {
    const [line, headers] = early[status];
    const half = 'x'.repeat(60_000);
    const head = `${line} HTTP/1.1\r\nHost: x\r\n${headers.replace('KEY', key)}Content-Length: 120000\r\n\r\n`;
    const socket = open(head + half);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await eventually(() => text.includes('}'));
    socket.write(half + rest);
    await new Promise((resolve) => socket.once('close', resolve));
    return text;
  }

  const statusesOfEarly = Object.keys(early).map((status) => Number(status) as keyof typeof early);
  test.each(statusesOfEarly)(
    'that was answered %i before its body has what follows that answered, good or malformed',
    async (status) => {
      expect(statusesIn(await afterEarly(status, 'bad\r\n\r\n'))).toEqual([status, 400]);
      const next = get('/v1/categories/1');
      expect(statusesIn(await afterEarly(status, `${next}bad\r\n\r\n`))).toEqual([status, 200, 400]);
    },
  );

  test.each(statusesOfEarly)('that was answered %i has nothing else for its body', async (status) => {
    const [line, headers] = early[status];
    const chunked = `${headers.replace('KEY', key)}Transfer-Encoding: chunked\r\n\r\n`;
    const socket = open(`${line} HTTP/1.1\r\nHost: x\r\n${chunked}1d4c0\r\n${'x'.repeat(110_000)}`);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await eventually(() => text.includes('}'));
    socket.write(`${'x'.repeat(10_000)}\r\nzz\r\n`);
    await new Promise((resolve) => socket.once('close', resolve));
    expect(statusesIn(text)).toEqual([status]);
  });

  test.each(statusesOfEarly)(
    'that would be answered %i has one answer if its body is none at once',
    async (status) => {
      const [line, headers] = early[status];
      const chunked = `${headers.replace('KEY', key)}Transfer-Encoding: chunked\r\n\r\n`;
      const socket = open(`${line} HTTP/1.1\r\nHost: x\r\n${chunked}zz\r\n\r\n`);
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
      await new Promise((resolve) => socket.once('close', resolve));
      expect(statusesIn(text)).toHaveLength(1);
    },
  );

  test('that sends on and on beyond that is cut off at once', async () => {
    await withTableLocked(service, 'pets', async () => {
      expect(await sentFor(get('/v1/pets/1').repeat(5_000))).toBe('');
    });
  });

  test('that sends on and on is closed for good, and leaves nothing behind', async () => {
    const connections = () => connectionsOf(service);
    const before = connections();
    const all = Array.from({ length: 20 }, () =>
      open(get('/v1/pets?limit=100').repeat(3_000), '127.0.0.4').resume(),
    );
    await eventually(() => connections() > before);
    await sleep(2_000);
    for (const socket of all) socket.resetAndDestroy();
    await eventually(() => connections() <= before);
  });

  test('that sends thousands of requests in a packet has no more than its bound of them made', async () => {
    // In hundredths of a second; a machine that is busy with others makes it half as much again.
    const cpu = () => {
      const [, , ...fields] = readFileSync(`/proc/${service.process.pid}/stat`, 'utf8').split(/[()]/);
      const [user, system] = fields[0]!.trim().split(' ').slice(11, 13);
      return Number(user) + Number(system);
    };
    const before = cpu();
    const bytes = 'GET / HTTP/1.1\r\n\r\n'.repeat(3_600);
    for (let i = 0; i < 20; i++) await sentFor(bytes, '127.0.0.6');
    // 2 each; 11 if Node makes them all.
    expect((cpu() - before) / 20).toBeLessThan(6);
  });

  test('is cut off when its client leaves too much unread over many, and not those of others', async () => {
    const path = await largest();
    const reading = open(get(path).repeat(8), '127.0.0.2');
    reading.resume();
    const stuck = Array.from({ length: 40 }, () => open(get(path).repeat(8)));
    await sleep(2_000);
    stuck.forEach((socket) => socket.resume());
    await eventually(() => stuck.some((socket) => socket.destroyed));
    expect([stuck.every((socket) => socket.destroyed), reading.destroyed]).toEqual([false, false]);
  });

  test('that is closed while its password is checked leaves no work behind', async () => {
    const account = await createAccount(service);
    const basic = Buffer.from(`${account.email}:${account.password}`).toString('base64');
    const change = post('{"revokeKeys":true}', '/v1/accounts/current')
      .replace('POST', 'PATCH')
      .replace(`Bearer ${key}`, `Basic ${basic}`);
    const clients = Array.from({ length: 6 }, () => open(change));
    // Those of one address are checked one after the other: the next one is now.
    await once(clients[0]!, 'data');
    for (const client of clients) client.destroy();
    expect((await call(service, 'GET', '/v1/accounts/current', { account })).status).toBe(200);
    expect(valueOf(await readMetrics(service), 'http_server_active_requests')).toBe(0);
  });

  test('has none of its writes made whose turn came too late', async () => {
    const count = async () =>
      Number((await query<{ n: string }>(service.databaseUrl, 'SELECT count(*) n FROM categories'))[0]!.n);
    const before = await count();
    const names = Array.from({ length: 100 }, () => randomUUID());
    let statuses: number[] = [];
    await withTableLocked(service, 'categories', async () => {
      statuses = statusesIn(await sentFor(`${names.map(postCategory).join('')}bad\r\n\r\n`));
    });
    expect(statuses).toEqual([...Array(100).fill(503), 400]);
    await sleep(1_000);
    // What became of the one under way when the time was over is for nobody to know.
    expect(await count()).toBeLessThanOrEqual(before + 1);
  });

  test('that has more pending gets its answers, then 503, and is closed', async () => {
    const statuses = statusesIn(await sentFor(get('/v1/categories/1').repeat(1_000)));
    expect(statuses).toEqual([...Array(100).fill(200), 503]);
  });

  test.each([
    ['what is no HTTP', 'hello\r\n\r\n'],
    ['a request without colons', 'GET / HTTP/1.1\r\nbad header\r\n\r\n'],
    ['a tunnel', 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a broken body', 'POST /v1/pets HTTP/1.1\r\nHost: x\r\nKEY\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'],
  ])('gets the answers to its writes before the refusal of %s', async (_what, bytes) => {
    const headers = `Authorization: Bearer ${key}\r\nContent-Type: application/json`;
    const text = await sentFor(
      post('{"name":"Before","categoryId":1}').repeat(2) + bytes.replace('KEY', headers),
    );
    expect(statusesIn(text)).toEqual([201, 201, 400]);
    expect(text).toMatch(/"status":400\}$/);
  });
});

describe('With few open files', () => {
  const FEW = 400;
  let few: Service;
  afterEach(() => few.stop());

  /** Connections of one client that ask for nothing. */
  async function idle(url: string, count: number): Promise<void> {
    const { hostname, port } = new URL(url);
    for (let i = 0; i < count; i++) {
      const socket = connect({ host: hostname, port: Number(port) }).on('error', () => {});
      sockets.push(socket);
    }
    await eventually(() => sockets.every((socket) => !socket.connecting));
  }

  const metricsOf = (one: Service) => /Metrics +(\S+)/.exec(one.output())![1]!;
  /** Whether those are answered who come now, one after the other. */
  async function expectServed(): Promise<void> {
    for (let i = 0; i < 5; i++) {
      const { status } = await fetch(`${few.url}/v1/pets`, {
        headers: { Authorization: `Bearer ${key}`, Connection: 'close' },
      });
      expect(status).toBe(200);
    }
    expect((await fetch(metricsOf(few), { headers: { Connection: 'close' } })).status).toBe(200);
  }

  test.each(['1', '2'])('idle connections shut nobody out, with WORKERS=%s', async (workers) => {
    const env = { DATABASE_URL: service.databaseUrl, WORKERS: workers, METRICS_PORT: '0' };
    few = await startService(env, undefined, FEW);
    expect(few.output()).toMatch(/"level":"warn".*connections at a time, not 8192.*ulimit -n.* is 400/);
    await idle(few.url, 2 * FEW * Number(workers));
    await expectServed();
    await idle(metricsOf(few), 2 * FEW);
    await expectServed();
  });

  test('whoever comes is served in the end, even if something else keeps open what there is', async () => {
    const main = fileURLToPath(new URL('../support/with-open-files.js', import.meta.url));
    const env = { DATABASE_URL: service.databaseUrl, METRICS_PORT: '0', KEPT_OPEN: '250' };
    few = await startService(env, main, FEW);
    await idle(few.url, FEW);
    await eventually(async () => {
      await idle(few.url, 5);
      return fetch(`${few.url}/health/ready`).then(
        ({ status }) => status === 200,
        () => false,
      );
    });
    await sleep(1_000);
    await expectServed();
  });
});

describe('A listener that throws', () => {
  const POST = 'POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
  const TUNNEL = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n';
  const LIVE = 'GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n';
  const METRICS = 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n';
  /** A listener, and what makes the service call it. */
  const FAULTS = [
    ['server connection', LIVE],
    ['server request', LIVE],
    ['server checkContinue', `${POST}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n`],
    ['server checkExpectation', `${POST}Expect: other\r\nContent-Length: 2\r\n\r\n`],
    ['server clientError', 'bad\r\n\r\n'],
    ['server connect', TUNNEL],
    ['server upgrade', LIVE.replace('Host', 'Connection: Upgrade\r\nUpgrade: websocket\r\nHost')],
    ['request data', `${POST}Authorization: Bearer KEY\r\nContent-Length: 2\r\n\r\n{}`],
    ['request end', `${POST}Authorization: Bearer KEY\r\nContent-Length: 2\r\n\r\n{}`],
    ['request close', LIVE],
    ['response finish', LIVE],
    ['response close', LIVE],
    ['socket data', TUNNEL + TUNNEL],
    ['socket end', LIVE],
    ['socket close', LIVE],
    ['server connection', METRICS, 'metrics'],
    ['server request', METRICS, 'metrics'],
    ['server checkExpectation', METRICS.replace('Host', 'Expect: other\r\nHost'), 'metrics'],
    ['server clientError', 'bad\r\n\r\n', 'metrics'],
    ['server connect', TUNNEL, 'metrics'],
  ] as const;

  test.each(FAULTS.map(([listener, bytes, where = 'api'], i) => [listener, where, bytes, i] as const))(
    'at %s of the port of the %s costs its client the connection, and nobody else anything',
    async (listener, where, bytes, i) => {
      const metricsUrl = /Metrics +(\S+)/.exec(careless.output())![1]!;
      const failed = async () =>
        valueOf(await readMetrics({ url: metricsUrl }), 'http_server_failed_connections_total');
      const before = await failed();
      const { hostname, port } = new URL(where === 'metrics' ? metricsUrl : careless.url);
      const client = connect({ host: hostname, port: Number(port), localAddress: `127.0.1.${i + 1}` });
      sockets.push(client.on('error', () => {}).resume());
      client.write(bytes.replace('KEY', key));
      if (/(?:end|socket close)$/.test(listener)) client.end();
      await eventually(async () => (await failed()) > before);
      await eventually(() => client.destroyed);
      expect((await call(careless, 'GET', '/v1/pets', { key })).status).toBe(200);
    },
  );

  test('is told to the operator without what the client sent', async () => {
    await eventually(() => careless.output().includes('A connection was cut off'));
    expect(careless.output()).toContain('with-throwing-listeners.js');
    expect(careless.output()).not.toMatch(/What the client sent|at secret/);
  });

  let careless: Service;
  beforeAll(async () => {
    const main = fileURLToPath(new URL('../support/with-throwing-listeners.js', import.meta.url));
    careless = await startService(
      {
        DATABASE_URL: service.databaseUrl,
        METRICS_PORT: '0',
        FAULTS: FAULTS.map(([listener]) => listener).join(),
      },
      main,
    );
  });
  afterAll(() => careless.stop());
});

describe('Overload', () => {
  const overloads: Overload[] = [];
  const overload = () => overloads[overloads.push(new Overload()) - 1]!;
  afterEach(() => overloads.splice(0).forEach((one) => one.stop()));
  const admitted = (one: Overload, name: string, count: number) =>
    Array.from({ length: count }).flatMap(() => {
      const client = one.enter(name);
      return one.admit(client) ? [client] : [];
    });

  test('refuses what comes in too long a turn of the event loop, but for a hundred requests and other clients', () => {
    const one = overload();
    for (const end = performance.now() + 500; performance.now() < end;);
    expect(admitted(one, 'a', 150)).toHaveLength(100);
    expect(admitted(one, 'b', 10)).toHaveLength(10);
  });

  test('counts answers that nobody reads when turns are long', () => {
    const one = overload();
    for (const done of admitted(one, 'a', 500)) one.release(done);
    for (const end = performance.now() + 500; performance.now() < end;);
    expect(admitted(one, 'a', 1)).toHaveLength(0);
    expect(admitted(one, 'b', 1)).toHaveLength(1);
  });

  test('is refused to those who have more than their share', () => {
    const one = overload();
    const first = admitted(one, 'a', 3_000);
    expect(first).toHaveLength(2_000);
    expect(admitted(one, 'b', 3_000)).toHaveLength(1_000);
    expect(admitted(one, 'c', 1)).toHaveLength(1);
    expect(admitted(one, 'a', 1)).toHaveLength(0);
    for (const done of first) one.release(done);
    expect(admitted(one, 'a', 3_000)).toHaveLength(999);
  });

  test('has an end, however many clients there are', () => {
    const one = overload();
    for (let i = 0; i < 10_000; i++) one.admit(one.enter(`client ${i}`));
    expect(one.requests).toBeLessThanOrEqual(4_000);
  });
});

describe('Those whose last request was refused', () => {
  const spend = (ms: number) => {
    for (const end = performance.now() + ms; performance.now() < end;);
  };

  test('have no more of a turn of the event loop than everything else, and are served in the end', async () => {
    const begun: number[] = [];
    const line = new LastInLine<number>((i) => {
      begun.push(i);
      spend(1);
    });
    for (let i = 0; i < 60; i++) line.add(i);
    const turns: number[] = [];
    while (begun.length < 60) {
      const before = begun.length;
      spend(5);
      await new Promise((resolve) => setImmediate(resolve));
      turns.push(begun.length - before);
    }
    // What else the machine does may make a turn longer.
    expect(turns.length).toBeGreaterThan(5);
    expect(begun).toEqual([...begun.keys()]);
  });

  test('are still in their order on a connection, with good requests between them', async () => {
    const wrong = 'GET /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n';
    const all = [wrong, get('/v1/pets'), get('/v1/nothing'), wrong, post(PET), wrong, get('/v1/pets/0')];
    expect(statusesIn(await sentFor(`${all.join('').repeat(5)}bad\r\n\r\n`))).toEqual([
      ...Array.from({ length: 5 }, () => [401, 200, 404, 401, 201, 401, 404]).flat(),
      400,
    ]);
  });
});

test('Of what is scarce, whoever holds most loses what it has held longest', () => {
  const lost: string[] = [];
  const holdings = new Holdings<string>(3, (thing) => lost.push(thing));
  for (const thing of ['a1', 'b1', 'a2']) holdings.add(thing[0]!, thing);
  expect(lost).toEqual([]);
  for (const thing of ['c1', 'a3', 'a4']) holdings.add(thing[0]!, thing);
  expect(lost).toEqual(['a1', 'a2', 'a3']);
  for (const thing of ['a1', 'b1', 'c1', 'a4']) holdings.delete(thing[0]!, thing);
  for (const thing of ['b2', 'b3', 'b4']) holdings.add('b', thing);
  expect(lost).toHaveLength(3);
});
