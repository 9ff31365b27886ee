import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createKey } from '../account.js';
import { Database } from '../database.js';
import { Bench } from '../measure.js';
import { type RunningServer, startServer } from '../servers.js';
import { commit, forgetPeak, memoryOf, peakOf } from '../usage.js';
import { Crowd, type Counts, type Doing } from './crowd.js';

/** What streams, events, uploads and reports take of the memory of a process, and what they leave to clients of lists. */
const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '1' },
    share: { type: 'string', default: '1' },
    out: { type: 'string' },
  },
});
const LISTS = 64;
const OWN = ['127.0.0.2', '127.0.0.3'];
const MB = 1_000_000;
/** A crowd that does not come to its end is given up after so many milliseconds. */
const MOST_MS = 60_000;

/** Clients, and what they do: the first of them is whose answers count. */
interface Scene {
  what: string;
  doing: Omit<Doing, 'port'>[];
  /** What goes on now and then meanwhile. */
  meanwhile?: (url: string) => Promise<unknown>;
  /** Bytes of answers after which it is over, or that it is when all are answered: nobody asks for lists meanwhile. */
  until?: number | 'answered';
  /** Seconds in which lists are asked for, where the usual ones do not show what it does. */
  seconds?: number;
}

const database = await Database.create();
try {
  const first = await start();
  const key = await createKey(first.url);
  await database.seed();
  await first.stop();
  const bench = new Bench(database, key);
  const rows: Row[] = [];
  for (const scene of scenesWith(key).filter(isWanted)) {
    const rounds: Row[] = [];
    for (let i = 0; i < Number(values.rounds); i++) rounds.push(await measure(bench, scene));
    rows.push(median(rounds));
    console.log(JSON.stringify(rows.at(-1)));
  }
  bench.close();
  console.table(rows);
  if (values.out) writeFileSync(join(values.out, 'streams.md'), toMarkdown(rows));
} finally {
  await database.close();
}

function start(): Promise<RunningServer> {
  const main = fileURLToPath(new URL('service.js', import.meta.url));
  return startServer('service', database.url, [], {}, main);
}

function scenesWith(key: string): Scene[] {
  const credentials = `Authorization: Bearer ${key}`;
  /** So many of something, or the share of it that is asked for. */
  const of = (count: number) => Math.max(1, Math.round(count * Number(values.share)));
  const named = (count: number) => of(count).toLocaleString('en');
  const head = (method: string, path: string, more = '') =>
    `${method} /v1/bulk/${path} HTTP/1.1\r\nHost: x\r\n${credentials}\r\n${more}\r\n`;
  const reading = (path: string, clients: number) => ({ clients, from: OWN, head: head('GET', path) });
  const sending = (bytes: number, clients: number, from = OWN) => ({
    clients,
    from,
    head: head('PUT', 'picture', `Content-Type: image/png\r\nContent-Length: ${bytes}\r\n`),
    body: { bytes },
  });
  const say = (url: string) =>
    fetch(`${url}/v1/bulk/said`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: '{"text":"Hello"}',
    });
  const good = { ...sending(MB, 1), again: true };
  const slow = {
    ...sending(5 * MB, of(1_000), ['127.0.0.4']),
    body: { bytes: 5 * MB, perSecond: 1_000 },
  };
  const events = reading('heard', of(2_000));
  const bytes = of(1_000) * MB;
  return [
    {
      what: `a download of ${named(1_000)} MB`,
      doing: [reading(`download?count=${of(1_000)}`, 1)],
      until: bytes,
    },
    { what: `${named(200)} uploads of 5 MB at once`, doing: [sending(5 * MB, of(200))], until: 'answered' },
    { what: `${named(2_000)} event streams`, doing: [events] },
    { what: `${named(2_000)} event streams, an event a second`, doing: [events], meanwhile: say },
    { what: '4 downloads', doing: [reading('download?count=1000000', 4)] },
    { what: '1 stream of rows', doing: [reading('rows?count=100000000', 1)] },
    { what: '4 streams of rows', doing: [reading('rows?count=100000000', 4)] },
    { what: '8 clients of reports of 5 s', doing: [{ ...reading('report', 8), again: true }], seconds: 11 },
    { what: 'a client of uploads of 1 MB', doing: [good] },
    {
      what: `a client of uploads of 1 MB, and ${named(1_000)} slow ones of one address`,
      doing: [good, slow],
    },
  ];
}

function isWanted({ what }: Scene): boolean {
  return !values.only || values.only.split(',').some((one) => what.includes(one));
}

/** In a new process of the service: what is before, what is while the crowds are there, and what is left when they have gone. */
async function measure(bench: Bench, scene: Scene) {
  const service = await start();
  const pid = service.process.pid!;
  const crowds: Crowd[] = [];
  let timer: NodeJS.Timeout | undefined;
  try {
    await bench.load(service, 'list', LISTS, 3);
    const alone = scene.until === undefined ? await lists(bench, service, scene) : undefined;
    await sleep(2_000);
    const before = memoryOf(pid);
    forgetPeak(pid);
    const begun = performance.now();
    const port = Number(new URL(service.url).port);
    crowds.push(...scene.doing.map((one) => new Crowd({ port, ...one })));
    timer = scene.meanwhile && setInterval(() => void scene.meanwhile!(service.url), 1_000);
    // As long as they take to come, and a slow upload to be slow.
    if (scene.until === undefined) await sleep(2_000 + clientsOf(scene));
    const [from, since] = [sum(crowds), performance.now()];
    const [firstBefore] = crowds.map(({ counts }) => counts.answered);
    const beside = alone && (await lists(bench, service, scene));
    if (!alone) await over(scene, crowds, begun);
    const seconds = (performance.now() - (alone ? since : begun)) / 1_000;
    const to = sum(crowds);
    const answered = crowds[0]!.counts.answered - (alone ? firstBefore! : 0);
    const peak = peakOf(pid);
    await Promise.all(crowds.splice(0).map((crowd) => crowd.stop()));
    await sleep(3_000);
    return {
      what: scene.what,
      'MB before': Math.round(before),
      peak: Math.round(peak),
      after: Math.round(memoryOf(pid)),
      'p99 ms of lists before': alone?.p99,
      beside: beside?.p99,
      'lists/s before': alone?.perSecond,
      'lists/s beside': beside?.perSecond,
      seconds: round(seconds),
      'answered/s': round(answered / seconds),
      'MB/s to them': round((to.bytes - (alone ? from.bytes : 0)) / MB / seconds),
      refused: to.refused,
    };
  } finally {
    clearInterval(timer);
    await Promise.all(crowds.map((crowd) => crowd.stop()));
    await service.stop();
  }
}

type Row = Awaited<ReturnType<typeof measure>>;

async function lists(bench: Bench, service: RunningServer, scene: Scene) {
  const length = scene.seconds ?? Number(values.seconds);
  const { requests, seconds, p99 } = await bench.measure(service, 'list', LISTS, length);
  return { perSecond: Math.round(requests / seconds), p99: round(p99) };
}

/** Resolves when all of the first crowd are answered, or have so many bytes. */
async function over({ until, doing }: Scene, [first]: Crowd[], begun: number): Promise<void> {
  const isOver = ({ bytes, answered, refused }: Counts) =>
    until === 'answered' ? answered + refused >= doing[0]!.clients : bytes >= until!;
  while (!isOver(first!.counts)) {
    if (performance.now() - begun > MOST_MS) throw new Error(`It is not over after ${MOST_MS} ms`);
    await sleep(20);
  }
}

function clientsOf({ doing }: Scene): number {
  return doing.reduce((total, { clients }) => total + clients, 0);
}

function sum(crowds: Crowd[]): Pick<Counts, 'bytes' | 'refused'> {
  const of = (name: 'bytes' | 'refused') => crowds.reduce((total, { counts }) => total + counts[name], 0);
  return { bytes: of('bytes'), refused: of('refused') };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Of each figure, the one in the middle. */
function median(rounds: Row[]): Row {
  const of = (name: keyof Row) =>
    rounds.map((row) => row[name] as number).toSorted((a, b) => a - b)[Math.floor(rounds.length / 2)];
  const [{ what, ...figures }] = rounds as [Row];
  const names = Object.keys(figures) as (keyof typeof figures)[];
  return { what, ...Object.fromEntries(names.map((name) => [name, of(name)])) } as Row;
}

function toMarkdown(rows: Row[]): string {
  const names = Object.keys(rows[0]!) as (keyof Row)[];
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const body = rows.map((row) => line(names.map((name) => row[name]?.toLocaleString('en') ?? '')));
  const rule = line(names.map((_name, i) => (i ? '--:' : '---')));
  const date = new Date().toISOString().slice(0, 10);
  return `# Streams, events, uploads and reports

${date}, commit ${commit()}, Node ${process.versions.node}, ${database.version}: service, PostgreSQL and clients on one machine of 2 cores,
each line in a new process of the service. MB are the resident memory of that process before, at most meanwhile, and 3 seconds after. Lists
are those of ${LISTS} clients, without the others and beside them. Answers and MB a second are those that the others get.

${[line(names), rule, ...body].join('\n')}
`;
}
