import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { Database } from './database.js';
import { type RunningServer, startServer } from './servers.js';

/**
 * What a good client has beside a flood of requests that are refused, as a share of what it has beside as many good
 * ones. Each request of the flood goes out as soon as the one before it on its connection is answered.
 */
const { values } = parseArgs({
  options: {
    flood: { type: 'string', default: '64' },
    good: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '1.5' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string' },
    profile: { type: 'boolean', default: false },
  },
});
const WARM_UP_MS = 300;
const GOOD = 'good requests';

interface Load {
  port: number;
  request: string;
  connections: number;
  /** Answers so far, on either side of the thread. */
  counts: Int32Array;
}

if (isMainThread) await measureAll();
else open(workerData as Load);

/** Connections of which each sends its request again as soon as it has its answer. */
function open({ port, request, connections, counts }: Load): Socket[] {
  return Array.from({ length: connections }, () => {
    const socket = connect(port, '127.0.0.1').setNoDelay().setEncoding('latin1');
    let received = '';
    socket
      .on('error', () => {})
      .on('data', (chunk) => {
        received += String(chunk);
        const end = received.indexOf('\r\n\r\n');
        if (end < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0);
        if (received.length < end + 4 + length) return;
        received = '';
        Atomics.add(counts, 0, 1);
        socket.write(request);
      });
    socket.write(request);
    return socket;
  });
}

async function measureAll(): Promise<void> {
  const database = await Database.create();
  const flags = values.profile ? ['--cpu-prof', '--cpu-prof-dir=bench/profiles'] : [];
  const server = await startServer('service', database.url, flags);
  try {
    await database.seed();
    const floods = await floodsOf(server);
    const names = Object.keys(floods).filter(
      (name) => !values.only || [GOOD, ...values.only.split(',')].includes(name),
    );
    const all = new Map<string, { good: number; flood: number }[]>(names.map((name) => [name, []]));
    for (let i = 0; i < Number(values.rounds); i++)
      for (const name of names) all.get(name)!.push(await beside(server, floods[GOOD]!, floods[name]!));
    report(all);
  } finally {
    await server.stop();
    await database.close();
  }
}

/** Requests a second of a good client, and of the flood beside it. */
async function beside(
  server: RunningServer,
  good: string,
  request: string,
): Promise<{ good: number; flood: number }> {
  const port = Number(new URL(server.url).port);
  const load = (text: string, connections: number): Load => ({
    port,
    request: text,
    connections,
    counts: new Int32Array(new SharedArrayBuffer(4)),
  });
  const flooding = load(request, Number(values.flood));
  const asking = load(good, Number(values.good));
  const worker = new Worker(new URL(import.meta.url), { workerData: flooding });
  const sockets = open(asking);
  while (Atomics.load(flooding.counts, 0) === 0) await sleep(10);
  await sleep(WARM_UP_MS);
  const before = [asking.counts[0]!, flooding.counts[0]!];
  const begun = performance.now();
  await sleep(Number(values.seconds) * 1_000);
  const seconds = (performance.now() - begun) / 1_000;
  const after = [asking.counts[0]!, flooding.counts[0]!];
  sockets.forEach((socket) => socket.destroy());
  await worker.terminate();
  await sleep(WARM_UP_MS);
  return { good: (after[0]! - before[0]!) / seconds, flood: (after[1]! - before[1]!) / seconds };
}

/** What is sent, by name. */
async function floodsOf({ url }: RunningServer): Promise<Record<string, string>> {
  const account = { email: 'flood@example.com', password: 'correct horse battery' };
  const basic = (password: string) => Buffer.from(`${account.email}:${password}`).toString('base64');
  const json = { 'Content-Type': 'application/json' };
  await fetch(`${url}/v1/accounts`, { method: 'POST', headers: json, body: JSON.stringify(account) });
  const made = await fetch(`${url}/v1/api-keys`, {
    method: 'POST',
    headers: { ...json, Authorization: `Basic ${basic(account.password)}` },
    body: '{"name":"floods"}',
  });
  const { key } = (await made.json()) as { key: string };
  const bearer = (one: string) => `Authorization: Bearer ${one}\r\n`;
  const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
  const post = (body: string) =>
    `POST /v1/pets HTTP/1.1\r\nHost: x\r\n${bearer(key)}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  return {
    [GOOD]: get('/v1/pets', bearer(key)),
    'no key': get('/v1/pets'),
    'wrong key': get('/v1/pets', bearer(`${key.slice(0, -1)}x`)),
    'malformed JSON': post('{"name":'),
    'wrong field': post('{"name":"","categoryId":1}'),
    'unknown route': get('/v1/nothing'),
    'wrong method': 'DELETE /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n',
    'wrong password': get('/v1/api-keys', `Authorization: Basic ${basic('wrong password')}\r\n`),
  };
}

function report(all: Map<string, { good: number; flood: number }[]>): void {
  const median = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!;
  const of = (name: string, side: 'good' | 'flood') =>
    Math.round(median(all.get(name)!.map((one) => one[side])));
  const base = of(GOOD, 'good');
  console.table(
    [...all.keys()].map((name) => ({
      beside: name,
      'flood, requests/s': of(name, 'flood'),
      'good client, requests/s': of(name, 'good'),
      'share of what it has beside good requests': Number((of(name, 'good') / base).toFixed(2)),
    })),
  );
}
