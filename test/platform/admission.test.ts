import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { call, createCheapAccount, createKey, type Credentials } from '../../src/testing/client.js';
import { query, type Service, startService } from '../../src/testing/service.js';
import { Customer } from '../support/customer.js';
import { withTableLocked } from '../support/held.js';
import { readMetrics, valueOf } from '../support/metrics.js';
import { eventually } from '../support/npm.js';

let service: Service;
let key: string;
let account: Credentials;
let others: string;
const sockets: Socket[] = [];

beforeAll(async () => {
  // The heap of a pod of 512 MiB.
  service = await startService({ NODE_OPTIONS: '--max-old-space-size=256' });
  account = await createCheapAccount(service);
  key = await createKey(service, account);
  others = await createKey(service);
});
afterEach(() => sockets.splice(0).forEach((socket) => socket.destroy()));
afterAll(() => service.stop());

/** A connection that reads nothing unless it is told to. */
function open(bytes: string, localAddress?: string, url = service.url): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), localAddress }).on('error', () => {});
  sockets.push(socket);
  socket.write(bytes);
  return socket;
}

const isConnected = () => eventually(() => sockets.every((socket) => !socket.connecting));

/** The statuses of all that the service sends over a connection until it closes that. */
async function statusesFor(bytes: string, localAddress?: string): Promise<number[]> {
  const socket = open(bytes, localAddress);
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  // Not `once`, which a reset would end with an error.
  await new Promise((resolve) => socket.once('close', resolve));
  return (text.match(/HTTP\/1\.1 \d+/g) ?? []).map((line) => Number(line.slice(9)));
}

const request = (line: string, body = '', more = '', as = key) =>
  `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${as}\r\n${more}${
    body && `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`
  }\r\n${body}`;
const PET = '{"name":"Rex","categoryId":1}';

/** Good clients are served, fifty at a time, while the flood goes on: at once, unless the machine itself is too busy. */
async function expectOthersServed(): Promise<void> {
  const both = () => [
    call(service, 'GET', '/v1/pets', { key: others }),
    call(service, 'POST', '/v1/pets', { key: others, body: PET }),
  ];
  const all: number[] = [];
  await eventually(async () => {
    const answers = await Promise.all(Array.from({ length: 25 }, both).flat());
    const statuses = answers.map(({ status }) => status);
    all.push(...statuses);
    return statuses.every((status) => status < 300);
  });
  const refused = all.filter((status) => status >= 300);
  expect(refused.filter((status) => status !== 503)).toEqual([]);
  expect(refused.length).toBeLessThanOrEqual(all.length / 2);
  expect(sockets.some(({ destroyed }) => !destroyed)).toBe(true);
}

/** A client at another address has each answer in time. */
async function expectOthersServedAt(address: string): Promise<void> {
  const sent = [request('GET /v1/pets', '', '', others), request('POST /v1/pets', PET, '', others)];
  for (let i = 0; i < 10; i++) {
    const begun = performance.now();
    expect(await statusesFor(`${sent.join('')}bad\r\n\r\n`, address)).toEqual([200, 201, 400]);
    // The service closes the connection a second after its answer at the latest.
    expect(performance.now() - begun).toBeLessThan(4_000);
  }
}

describe('Others are served', () => {
  test('while clients ask for much and read nothing', async () => {
    const much = 'GET /reference HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2_400);
    for (let i = 0; i < 5; i++) open(much, '127.0.0.3');
    await isConnected();
    await expectOthersServed();
  });

  test('while a client sends thousands of requests at once, good, refused or for nothing', async () => {
    for (const line of ['GET /v1/pets?limit=100', 'GET /v1/nothing', 'POST /v1/pets'])
      for (let i = 0; i < 5; i++) {
        const socket = open(request(line).repeat(3_000), '127.0.0.4');
        socket.on('data', () => socket.write(request(line)));
      }
    await isConnected();
    await expectOthersServed();
  });

  test('while thousands of bodies never end', async () => {
    const head = 'POST /v1/accounts HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
    for (let i = 0; i < 2_500; i++) open(`${head}Content-Length: 100\r\n\r\n{`, '127.0.0.4');
    await isConnected();
    await expectOthersServed();
  });

  test('while one client fills its memory for bodies, with a key and without one', async () => {
    const type = 'Content-Type: application/json\r\n';
    const heads = [
      request('POST /v1/pets', '', type),
      `POST /v1/accounts HTTP/1.1\r\nHost: x\r\n${type}\r\n`,
    ];
    for (const [count, length] of [
      [131, 102_400],
      [1, 7_372],
    ] as const)
      for (let i = 0; i < count; i++)
        for (const head of heads) open(`${head.slice(0, -2)}Content-Length: ${length}\r\n\r\n{`, '127.0.0.8');
    await isConnected();
    for (let i = 0; i < 5; i++) {
      const socket = open(request('POST /v1/pets', PET, '', others).slice(0, -PET.length), '127.0.0.2');
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
      await sleep(100);
      socket.write(PET);
      const begun = performance.now();
      await eventually(() => text !== '');
      expect(text).toMatch(/^HTTP\/1\.1 201 /);
      expect(performance.now() - begun).toBeLessThan(3_000);
    }
  });

  test('while one client has a hundred requests wait on each of its connections', async () => {
    const clients = Array.from({ length: 3_000 }, () => open('', '127.0.0.4'));
    await isConnected();
    for (const client of clients) client.write(request('GET /v1/pets?limit=1').repeat(101));
    await expectOthersServedAt('127.0.0.2');
    for (const socket of sockets) socket.destroy();
    const active = async () => valueOf(await readMetrics(service), 'http_server_active_requests');
    await eventually(async () => (await active()) === 0);
  });

  test('at the same address, while one of them reads nothing of two hundred answers', async () => {
    open('GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(200), '127.0.0.5');
    await isConnected();
    await expectOthersServedAt('127.0.0.5');
  });

  test('while dozens ask for the document by names that they make up', async () => {
    const ask = () => `GET /openapi.json HTTP/1.1\r\nHost: ${randomUUID()}\r\nAccept-Encoding: br\r\n\r\n`;
    // As each has its answer, it asks again.
    for (let i = 0; i < 50; i++) {
      const socket = open(ask(), '127.0.0.2');
      socket.on('data', (chunk: Buffer) => {
        if (chunk.includes('HTTP/1.1 ')) socket.write(ask());
      });
    }
    await isConnected();
    for (let i = 0; i < 5; i++)
      expect((await call(service, 'GET', '/v1/accounts/current', { account })).status).toBe(200);
  });

  test('while one of them has a hundred transactions wait', async () => {
    const customer = await Customer.of(service, account);
    const { id } = await customer.orderAt('placed');
    const change = request(`PATCH /v1/store/orders/${id}`, '{"status":"approved"}').replace(
      key,
      customer.key,
    );
    const ready = request('GET /health/ready?by=probe');
    let statuses: number[] = [];
    const inLine = async () => valueOf(await readMetrics(service), 'petstore_database_waiting');
    await withTableLocked(service, 'orders', async () => {
      // Each asks again when it is answered.
      for (let i = 0; i < 100; i++) {
        const socket = open(change);
        socket.on('data', () => void setTimeout(() => socket.write(change), 100));
      }
      for (let i = 0; i < 3; i++) {
        // As long as the table is locked, the hundred wait, also on a machine that is too busy for the others at first.
        await eventually(async () => {
          await eventually(async () => (await inLine()) > 20);
          const sent = [
            request('GET /v1/pets', '', '', others),
            ready,
            request('POST /v1/pets', PET, '', others),
            request('POST /v1/pets', PET, `Idempotency-Key: ${randomUUID()}\r\n`, others),
            'bad\r\n\r\n',
          ];
          statuses = await statusesFor(sent.join(''), '127.0.0.2');
          return !statuses.includes(503);
        });
        expect(new Set(statuses)).toEqual(new Set([200, 201, 400]));
      }
    });
  });

  test('while one account asks for hundreds of different pages', async () => {
    const inLine = async () => valueOf(await readMetrics(service), 'petstore_database_waiting');
    await withTableLocked(service, 'pets', async () => {
      for (let limit = 1; limit <= 100; limit++)
        for (const status of ['available', 'pending', 'sold']) {
          const ask = request(`GET /v1/pets?limit=${limit}&status=${status}`);
          const socket = open(ask);
          socket.on('data', () => void setTimeout(() => socket.write(ask), 100));
        }
      for (let i = 0; i < 3; i++) {
        await eventually(async () => (await inLine()) > 50);
        expect((await call(service, 'GET', '/v1/categories', { key: others })).status).toBe(200);
      }
    });
  });

  test('by keys that the process has just looked up, while another account changes', async () => {
    const list = () => call(service, 'GET', '/v1/categories', { key: others });
    // On a busy machine the key may have to be looked up again, in a table that is locked.
    await eventually(async () => {
      const changing = await createCheapAccount(service);
      const change = { account: changing, body: { email: `${randomUUID()}@example.com` } };
      let status = 0;
      await list();
      await withTableLocked(service, 'api_keys', async () => {
        expect((await call(service, 'PATCH', '/v1/accounts/current', change)).status).toBe(200);
        ({ status } = await list());
      });
      return status === 200;
    });
  });

  test('and nothing is left of clients that are gone before their answers are sent', async () => {
    const active = async () => valueOf(await readMetrics(service), 'http_server_active_requests');
    const flood = Array.from({ length: 50 }, () => open(request('GET /docs').repeat(40), '127.0.0.5'));
    await isConnected();
    for (const socket of flood) socket.resetAndDestroy();
    await eventually(async () => (await active()) === 0);
    expect(service.output()).not.toContain('internal_error');
  });
});

test('Accounts that ask for one page at the same moment share its statement', async () => {
  // Of this size alone: the service may still read what clients of the tests before have left.
  const waiting = `SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FROM "pets"%LIMIT 61'`;
  const keys = Array.from({ length: 4 }, () => [key, others]).flat();
  const ask = () => Promise.all(keys.map((one) => call(service, 'GET', '/v1/pets?limit=57', { key: one })));
  let answers: { status: number; body: unknown }[] = [];
  // A lock may last too long for the answers on a busy machine.
  await eventually(async () => {
    let asked: ReturnType<typeof ask> | undefined;
    await withTableLocked(service, 'pets', async () => {
      asked = ask();
      await eventually(async () => (await query(service.databaseUrl, waiting)).length > 0);
      // Time for the others to arrive.
      await sleep(200);
      expect(await query(service.databaseUrl, waiting)).toHaveLength(1);
    });
    answers = (await asked!).map(({ status, body }) => ({ status, body }));
    return answers.every(({ status }) => status !== 503);
  });
  expect(answers).toEqual(answers.map(() => ({ status: 200, body: answers[0]!.body })));
});

/** One with few open files, and with listeners that throw: each at what its client alone does. */
describe('A service in need', () => {
  const FEW = 400;
  const POST = 'POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
  /** What has a listener of the service throw. */
  const FAULTS = [
    'GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n',
    `${POST}Expect: other\r\nContent-Length: 2\r\n\r\n`,
    'bad\r\n\r\n',
    'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
  ];

  let few: Service;
  let metricsUrl: string;
  beforeAll(async () => {
    const main = fileURLToPath(new URL('../support/with-throwing-observer.js', import.meta.url));
    const env = { DATABASE_URL: service.databaseUrl, METRICS_PORT: '0' };
    few = await startService(env, main, FEW);
    metricsUrl = /Metrics +(\S+)/.exec(few.output())![1]!;
  });
  afterAll(() => few.stop());

  test('whose listener throws closes the connection of that client only', async () => {
    const failed = async () =>
      valueOf(await readMetrics({ url: metricsUrl }), 'http_server_failed_connections_total');
    const before = await failed();
    for (const bytes of FAULTS) {
      const client = open(bytes, '127.0.1.1', few.url).resume();
      await eventually(() => client.destroyed);
    }
    // A client that leaves before its answer.
    open(`${POST}Authorization: Bearer ${key}\r\nContent-Length: 2\r\n\r\n{`, '127.0.1.1', few.url).end();
    await eventually(async () => (await failed()) >= before + FAULTS.length + 1);
    expect((await call(few, 'GET', '/v1/pets', { key })).status).toBe(200);
    // The operator is told, without what the client sent.
    await eventually(() => few.output().includes('A connection was cut off'));
    expect(few.output()).toContain('with-throwing-observer.js');
    expect(few.output()).not.toMatch(/What the client sent|at secret/);
  });

  test('of file descriptors serves other clients, however many idle connections one client has', async () => {
    const headers = { Authorization: `Bearer ${key}`, Connection: 'close' };
    for (const url of [few.url, metricsUrl]) {
      for (let i = 0; i < 2 * FEW; i++) open('', '127.0.0.7', url);
      await isConnected();
      for (let i = 0; i < 5; i++) expect((await fetch(`${few.url}/v1/pets`, { headers })).status).toBe(200);
      expect((await fetch(metricsUrl, { headers: { Connection: 'close' } })).status).toBe(200);
    }
  });
});
