import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Database } from '../database.js';
import { Bench } from '../measure.js';
import { createKey, post, type RunningServer, startServer, stopAll } from '../servers.js';
import { provenance, toTable } from '../table.js';
import { forgetPeak, memoryOf, peakOf } from '../usage.js';
import { Crowd, type Counts, type Doing } from './crowd.js';

/** Measures the memory that streams, events, uploads and reports need, and how they slow clients of lists. */
const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    seconds: { type: 'string', default: '3' },
    share: { type: 'string', default: '1' },
  },
});
const LISTS = 64;
const OWN = ['127.0.0.2', '127.0.0.3'];
const MB = 1_000_000;
/** Longest time of a crowd, in milliseconds. */
const MOST_MS = 60_000;
const HEAD = [
  ...['What', 'MB before', 'peak', 'after', 'p99 ms of lists before', 'beside', 'lists/s before', 'beside'],
  ...['seconds', 'answered/s', 'MB/s to them', 'refused'],
];

/** Crowds of clients. The answers of the first crowd are counted. */
interface Scene {
  what: string;
  doing: Omit<Doing, 'port'>[];
  /** Called every second while the crowds run. */
  meanwhile?: (url: string) => Promise<unknown>;
  /** Whether the measurement ends with the last answer; if so, no clients request lists. */
  isOnce?: boolean;
}

const database = await Database.create();
try {
  const first = await start();
  const key = await createKey(first);
  const other = await createKey(first, 'ada@example.com');
  await database.seed();
  await first.stop();
  const bench = new Bench(database, key);
  const rows: string[][] = [];
  const isWanted = ({ what }: Scene) => values.only.split(',').some((one) => what.includes(one));
  for (const scene of scenesWith(key, other).filter(isWanted)) {
    console.error(`${scene.what} …`);
    rows.push(await measure(bench, scene));
  }
  bench.close();
  console.log(`\n${provenance(database.version)}\n\n${toTable(HEAD, rows)}`);
} finally {
  await stopAll();
  await Database.closeAll();
}

function start(): Promise<RunningServer> {
  return startServer('service', database.url, {}, fileURLToPath(new URL('service.js', import.meta.url)));
}

/** @param key of the account of lists and of the counted uploads */
function scenesWith(key: string, other: string): Scene[] {
  const credentials = { Authorization: `Bearer ${other}` };
  /** A number of clients, reduced to the share that `--share` gives. */
  const of = (count: number) => Math.max(1, Math.round(count * Number(values.share)));
  const named = (count: number) => of(count).toLocaleString('en');
  const head = (as: string, method: string, path: string, more = '') =>
    `${method} /v1/bulk/${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${as}\r\n${more}\r\n`;
  const reading = (path: string, clients: number, as = other) => ({
    clients,
    from: OWN,
    head: head(as, 'GET', path),
  });
  const sending = (bytes: number, clients: number, as = other, from = OWN) => ({
    clients,
    from,
    head: head(as, 'PUT', 'picture', `Content-Type: image/png\r\nContent-Length: ${bytes}\r\n`),
    body: { bytes },
  });
  const say = (url: string) => post(`${url}/v1/bulk/said`, { text: 'Hello' }, credentials).catch(() => {});
  const good = { ...sending(MB, 1, key), again: true };
  const slow = {
    ...sending(5 * MB, of(1_000), other, ['127.0.0.4']),
    body: { bytes: 5 * MB, perSecond: 1_000 },
  };
  return [
    { what: `${named(200)} uploads of 5 MB at once`, doing: [sending(5 * MB, of(200))], isOnce: true },
    {
      what: `${named(2_000)} event streams, an event a second`,
      doing: [reading('heard', of(2_000))],
      meanwhile: say,
    },
    { what: '4 downloads', doing: [reading('download?count=1000000', 4)] },
    {
      what: '4 streams of rows, 2 of each account',
      doing: [reading('rows?count=100000000', 2), reading('rows?count=100000000', 2, key)],
    },
    { what: 'a client of uploads of 1 MB', doing: [good] },
    {
      what: `a client of uploads of 1 MB, and ${named(1_000)} slow ones of another account`,
      doing: [good, slow],
    },
  ];
}

/** Measures a new process of the service before the crowds, with them, and after they have left. */
async function measure(bench: Bench, scene: Scene): Promise<string[]> {
  const service = await start();
  const { pid, url } = service;
  const crowds: Crowd[] = [];
  let timer: NodeJS.Timeout | undefined;
  try {
    await bench.load(service, 'list', LISTS, 3);
    const alone = scene.isOnce ? undefined : await lists(bench, service);
    await sleep(2_000);
    const before = memoryOf(pid);
    forgetPeak(pid);
    let begun = performance.now();
    crowds.push(...scene.doing.map((one) => new Crowd({ port: Number(new URL(url).port), ...one })));
    timer = scene.meanwhile && setInterval(() => void scene.meanwhile!(url), 1_000);
    let from = { bytes: 0, answered: 0 };
    if (alone) {
      // The crowds need this time to connect, and slow uploads to be slow.
      await sleep(2_000 + scene.doing.reduce((total, { clients }) => total + clients, 0));
      from = countsOf(crowds);
      begun = performance.now();
    }
    const beside = alone ? await lists(bench, service) : await over(scene, crowds, begun);
    const seconds = (performance.now() - begun) / 1_000;
    const to = countsOf(crowds);
    const peak = peakOf(pid);
    await Promise.all(crowds.splice(0).map((crowd) => crowd.stop()));
    await sleep(3_000);
    const figures = [
      ...[before, peak, memoryOf(pid)].map(Math.round),
      ...[alone?.p99, beside?.p99, alone?.perSecond, beside?.perSecond, seconds],
      ...[(to.answered - from.answered) / seconds, (to.bytes - from.bytes) / MB / seconds, to.refused],
    ];
    return [scene.what, ...figures.map((figure) => (figure === undefined ? '' : rounded(figure)))];
  } finally {
    clearInterval(timer);
    await Promise.all(crowds.map((crowd) => crowd.stop()));
    await service.stop();
  }
}

async function lists(bench: Bench, service: RunningServer) {
  const { requests, seconds, p99 } = await bench.measure(service, 'list', LISTS, Number(values.seconds));
  return { perSecond: Math.round(requests / seconds), p99 };
}

/** Resolves when the whole first crowd has its answers. */
async function over({ doing }: Scene, [first]: Crowd[], begun: number): Promise<undefined> {
  const isOver = ({ answered, refused }: Counts) => answered + refused >= doing[0]!.clients;
  while (!isOver(first!.counts)) {
    if (performance.now() - begun > MOST_MS) throw new Error(`It is not over after ${MOST_MS} ms`);
    await sleep(20);
  }
}

/** Answers to the first crowd, and bytes to all crowds. */
function countsOf(crowds: Crowd[]): Pick<Counts, 'bytes' | 'answered' | 'refused'> {
  const of = (name: keyof Counts) => crowds.reduce((total, { counts }) => total + counts[name], 0);
  return { bytes: of('bytes'), answered: crowds[0]!.counts.answered, refused: of('refused') };
}

function rounded(value: number): string {
  return (Math.round(value * 10) / 10).toLocaleString('en');
}
