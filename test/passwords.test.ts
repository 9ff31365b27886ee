import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type Answer, call, createAccount, type Credentials, expectError } from '../src/testing/client.js';
import { readMetrics, valueOf } from './support/metrics.js';
import { eventually } from './support/npm.js';
import { type Service, startService } from '../src/testing/service.js';

let service: Service;
let account: Credentials;

beforeAll(async () => {
  service = await startService({ TRUST_PROXY: '1' });
});
beforeEach(async () => {
  account = await createAccount(service);
});
afterAll(() => service.stop());

const logIn = (ip: string, as = account) =>
  call(service, 'GET', '/v1/api-keys', { account: as, headers: { 'X-Forwarded-For': ip } });
const burst = (count: number, ip: string, as?: Credentials) =>
  Array.from({ length: count }, () => logIn(ip, as));

/** Requests under way, and how many of them have been answered with a status so far. */
function started(requests: Promise<Answer>[]) {
  const statuses: number[] = [];
  const all = Promise.all(requests.map((one) => one.then(({ status }) => statuses.push(status))));
  return { all, count: (status: number) => statuses.filter((other) => other === status).length };
}

/** Log-ins whose answers nobody waits for. */
async function openLogIns(count: number): Promise<Socket[]> {
  const basic = Buffer.from(`${account.email}:${account.password}`).toString('base64');
  const { hostname, port } = new URL(service.url);
  const sockets = Array.from({ length: count }, () => connect(Number(port), hostname));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  for (const socket of sockets)
    socket
      .on('error', () => {})
      .write(
        `GET /v1/api-keys HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\nAuthorization: Basic ${basic}\r\n\r\n`,
      );
  return sockets;
}

const cpuSeconds = async () => valueOf(await readMetrics(service), 'process_cpu_seconds_total');

describe('While many passwords are checked', () => {
  test('files are read and names looked up without waiting for them', async () => {
    const { all, count } = started(burst(40, '192.0.2.1'));
    await eventually(() => count(200) > 0);
    // Read from the disk and compressed, in several steps of the thread pool.
    expect((await call(service, 'GET', '/assets/x/docs.js')).status).toBe(200);
    expect(count(200)).toBeLessThan(20);
    await all;
  });

  test('for one address, those of others are checked in between, and none is turned away for it', async () => {
    const { all, count } = started(burst(120, '192.0.2.1', { ...account, password: 'wrong horse battery' }));
    await eventually(() => count(401) > 0);
    expect((await logIn('192.0.2.2')).status).toBe(200);
    expect((await createAccount(service)).id).toBeGreaterThan(0);
    expect((await logIn('2001:db8::1')).status).toBe(200);
    expect(count(401)).toBeLessThan(30);
    await all;
    expect(count(503)).toBeGreaterThan(0);
  });

  test('those beyond what can wait are told to come again', async () => {
    const answers = await Promise.all(burst(200, '192.0.2.1'));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThan(50);
    for (const answer of refused) {
      expectError(answer, 503, 'service_unavailable');
      expect(answer.headers.get('retry-after')).toBeTruthy();
    }
  });

  test('those of clients that have gone are not checked', async () => {
    await logIn('192.0.2.1');
    const before = await cpuSeconds();
    await logIn('192.0.2.1');
    const one = (await cpuSeconds()) - before;
    const sockets = await openLogIns(60);
    await once(sockets[0]!, 'data');
    const begun = await cpuSeconds();
    for (const socket of sockets) socket.destroy();
    expect((await logIn('192.0.2.1')).status).toBe(200);
    expect((await cpuSeconds()) - begun).toBeLessThan(15 * one);
  });
});
