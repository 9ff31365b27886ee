import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import { AUDIENCE, Issuer } from '../test/support/issuer.js';
import { Database } from './database.js';
import { type RunningServer, startServer } from './servers.js';
import { cpuOf } from './usage.js';

/**
 * What a request with an access token costs beside one with an API key, and what a key costs where tokens are accepted beside
 * one where they are not: a get by id, the ones after the others in each round. Ratios are medians over the rounds.
 */
const { values } = parseArgs({
  options: {
    connections: { type: 'string', default: '1,16' },
    seconds: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '7' },
  },
});

interface Asking {
  name: string;
  server: RunningServer;
  bearer: string;
}

interface Cost {
  rate: number;
  /** Of the service, in µs a request. */
  cpu: number;
}

const PLAIN = 'key, no issuer configured';
const KEY = 'key, beside tokens';
const TOKEN = 'token';

const issuer = await Issuer.start();
const database = await Database.create();
const plain = await startServer('service', database.url);
const open = await startServer('service', database.url, [], {
  OIDC_ISSUER: issuer.url,
  OIDC_AUDIENCE: AUDIENCE,
});
try {
  await database.seed();
  const key = await newKey(plain);
  const token = await issuer.token({ scope: 'pets:read' });
  const askings: Asking[] = [
    { name: PLAIN, server: plain, bearer: key },
    { name: KEY, server: open, bearer: key },
    { name: TOKEN, server: open, bearer: token },
  ];
  for (const connections of values.connections.split(',').map(Number)) await compare(askings, connections);
} finally {
  await Promise.all([plain.stop(), open.stop()]);
  await database.close();
  await issuer.stop();
}

async function compare(askings: readonly Asking[], connections: number): Promise<void> {
  const all = new Map<string, Cost[]>(askings.map(({ name }) => [name, []]));
  for (const one of askings) await load(one, connections, 1);
  for (let round = 0; round < Number(values.rounds); round++) {
    // None is always the first after a pause.
    const order = askings.map((_one, i) => askings[(i + round) % askings.length]!);
    for (const one of order) all.get(one.name)!.push(await load(one, connections, Number(values.seconds)));
  }
  const of = (name: string, what: keyof Cost) => median(all.get(name)!.map((cost) => cost[what]));
  const ratio = (name: string, base: string, what: keyof Cost) =>
    Number(median(all.get(name)!.map((cost, i) => cost[what] / all.get(base)![i]![what])).toFixed(3));
  console.log(`${connections} connections`);
  console.table(
    [PLAIN, KEY, TOKEN].map((name) => {
      const base = name === TOKEN ? KEY : PLAIN;
      return {
        request: name,
        'requests/s': Math.round(of(name, 'rate')),
        'service CPU µs': Math.round(of(name, 'cpu')),
        beside: base,
        'requests/s ÷': ratio(name, base, 'rate'),
        'CPU ÷': ratio(name, base, 'cpu'),
      };
    }),
  );
}

/** @throws Error if an answer was no success: the figures would then mean something else */
async function load({ name, server, bearer }: Asking, connections: number, seconds: number): Promise<Cost> {
  await sleep(100);
  const pid = server.process.pid!;
  const before = cpuOf(pid);
  const { requests, errors, non2xx } = await autocannon({
    url: `${server.url}/v1/pets/1`,
    headers: { Authorization: `Bearer ${bearer}` },
    connections,
    duration: seconds,
  });
  if (errors > 0 || non2xx > 0)
    throw new Error(`${name}: ${errors} errors, ${non2xx} answers of another kind`);
  return { rate: requests.total / seconds, cpu: (cpuOf(pid) - before) / requests.total };
}

async function newKey({ url }: RunningServer): Promise<string> {
  const account = { email: 'tokens@example.com', password: 'correct horse battery' };
  const basic = Buffer.from(`${account.email}:${account.password}`).toString('base64');
  const headers = { 'Content-Type': 'application/json' };
  await fetch(`${url}/v1/accounts`, { method: 'POST', headers, body: JSON.stringify(account) });
  const made = await fetch(`${url}/v1/api-keys`, {
    method: 'POST',
    headers: { ...headers, Authorization: `Basic ${basic}` },
    body: '{"name":"tokens"}',
  });
  return ((await made.json()) as { key: string }).key;
}

function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!;
}
