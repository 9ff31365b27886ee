import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createKey } from '../account.js';
import { Database } from '../database.js';
import { Bench } from '../measure.js';
import { startServer } from '../servers.js';
import { commit, forgetPeak, memoryOf, peakOf } from '../usage.js';
import { Crowd, type Doing } from './crowd.js';

/** What others have beside streams, events, slow uploads and reports, and the memory that these and large bodies take. */
const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    out: { type: 'string' },
  },
});
const LISTS = 64;
const OWN = ['127.0.0.2', '127.0.0.3'];

/** What is done beside lists, or alone. */
interface Scene {
  what: string;
  doing: Omit<Doing, 'port'>[];
  /** What goes on now and then meanwhile. */
  meanwhile?: () => Promise<unknown>;
}

const database = await Database.create();
const service = await startServer(
  'service',
  database.url,
  [],
  {},
  fileURLToPath(new URL('service.js', import.meta.url)),
);
const pid = service.process.pid!;
const port = Number(new URL(service.url).port);
try {
  const key = await createKey(service.url);
  await database.seed();
  const bench = new Bench(database, key);
  await bench.load(service, 'list', LISTS, 4);
  await measureAll(bench, key);
  bench.close();
} finally {
  await service.stop();
  await database.close();
}

async function measureAll(bench: Bench, key: string): Promise<void> {
  const head = (method: string, path: string, more = '') =>
    `${method} /v1/bulk/${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${more}\r\n`;
  const reading = (path: string, clients: number) => ({ clients, from: OWN, head: head('GET', path) });
  const sending = (bytes: number, clients: number, from = OWN) => ({
    clients,
    from,
    head: head('PUT', 'picture', `Content-Type: image/png\r\nContent-Length: ${bytes}\r\n`),
  });
  const say = () =>
    fetch(`${service.url}/v1/bulk/said`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: '{"text":"Hello"}',
    });
  const slow = { ...sending(5_000_000, 1_000, ['127.0.0.4']), body: { bytes: 5_000_000, perSecond: 1_000 } };
  const good = { ...sending(1_000_000, 1), body: { bytes: 1_000_000 }, again: true };

  const beside: Scene[] = [
    { what: 'alone', doing: [] },
    { what: '1 stream of rows', doing: [reading('rows?count=100000000', 1)] },
    { what: '4 streams of rows', doing: [reading('rows?count=100000000', 4)] },
    { what: '4 downloads', doing: [reading('download?count=1000000', 4)] },
    { what: '2,000 event streams, without events', doing: [reading('heard', 2_000)] },
    { what: '2,000 event streams, an event a second', doing: [reading('heard', 2_000)], meanwhile: say },
    { what: '8 clients of reports of 5 s', doing: [{ ...reading('report', 8), again: true }] },
    { what: '1,000 slow uploads of one address', doing: [slow] },
  ];
  const lists = new Map<string, Lists[]>();
  for (let i = 0; i < Number(values.rounds); i++)
    for (const scene of beside.filter(isWanted))
      lists.set(scene.what, [...(lists.get(scene.what) ?? []), await listsBeside(bench, scene)]);
  const uploads = [
    { what: 'alone', doing: [good] },
    { what: 'beside 1,000 slow ones of another address', doing: [good, slow] },
  ];
  const memory: Scene[] = [
    { what: 'a download of 1 GB', doing: [reading('download?count=1000', 1)] },
    { what: '200 uploads of 5 MB', doing: [{ ...sending(5_000_000, 200), body: { bytes: 5_000_000 } }] },
    { what: '2,000 event streams', doing: [reading('heard', 2_000)] },
  ];
  const tables = {
    'What 64 clients of lists have beside others': [...lists].map(([what, all]) => medians(what, all)),
    'What a client has that uploads 1 MB, again and again': await each(uploads, uploadsOf),
    'The memory of the service, in MB': await each(memory, memoryFor),
  };
  for (const [title, rows] of Object.entries(tables)) {
    if (rows.length === 0) continue;
    console.log(title);
    console.table(rows);
  }
  if (values.out) writeFileSync(values.out, toMarkdown(tables));
}

async function each<Row>(scenes: Scene[], measure: (scene: Scene) => Promise<Row>): Promise<Row[]> {
  const rows: Row[] = [];
  for (const scene of scenes.filter(isWanted)) rows.push(await measure(scene));
  return rows;
}

function isWanted({ what }: Scene): boolean {
  return !values.only || values.only.split(',').some((one) => what.includes(one));
}

/** Has others do what they do while something is measured. */
async function during<T>({ doing, meanwhile }: Scene, measure: (crowds: Crowd[]) => Promise<T>): Promise<T> {
  const crowds = doing.map((one) => new Crowd({ port, ...one }));
  const timer = meanwhile && setInterval(() => void meanwhile(), 1_000);
  try {
    return await measure(crowds);
  } finally {
    clearInterval(timer);
    await Promise.all(crowds.map((crowd) => crowd.stop()));
    await sleep(500);
  }
}

type Lists = Record<'lists/s' | 'p50 ms' | 'p99 ms' | 'MB/s of the others' | 'answered' | 'refused', number>;

function listsBeside(bench: Bench, scene: Scene): Promise<Lists> {
  return during(scene, async (crowds) => {
    const clients = scene.doing.reduce((sum, one) => sum + one.clients, 0);
    await sleep(500 + clients);
    const sum = (name: 'bytes' | 'answered' | 'refused') =>
      crowds.reduce((total, { counts }) => total + counts[name], 0);
    const before = sum('bytes');
    const { requests, seconds, p50, p99 } = await bench.measure(
      service,
      'list',
      LISTS,
      scene.what.includes('report') ? 6 : Number(values.seconds),
    );
    return {
      'lists/s': Math.round(requests / seconds),
      'p50 ms': p50,
      'p99 ms': p99,
      'MB/s of the others': Math.round((sum('bytes') - before) / 1e5 / seconds) / 10,
      answered: sum('answered'),
      refused: sum('refused'),
    };
  });
}

function medians(what: string, all: Lists[]): { what: string } & Lists {
  const of = (name: keyof Lists) =>
    all.map((one) => one[name]).toSorted((a, b) => a - b)[Math.floor(all.length / 2)]!;
  const names = Object.keys(all[0]!) as (keyof Lists)[];
  return { what, ...(Object.fromEntries(names.map((name) => [name, of(name)])) as Lists) };
}

function uploadsOf(scene: Scene) {
  return during(scene, async ([good, slow]) => {
    await sleep(3_000);
    const before = good!.counts;
    await sleep(5_000);
    const after = good!.counts;
    return {
      what: scene.what,
      'uploads/s': (after.answered - before.answered) / 5,
      refused: after.refused,
      'slow ones refused': slow?.counts.refused ?? 0,
    };
  });
}

async function memoryFor(scene: Scene) {
  await sleep(2_000);
  const before = memoryOf(pid);
  forgetPeak(pid);
  return during(scene, async (crowds) => {
    const begun = performance.now();
    const clients = scene.doing[0]!.clients;
    const isDone = () => {
      const { bytes, answered, refused } = crowds[0]!.counts;
      return answered + refused >= clients && (clients > 1 || bytes >= 1e9);
    };
    while (!isDone() && performance.now() - begun < 30_000) await sleep(50);
    const { answered, refused } = crowds[0]!.counts;
    return {
      what: scene.what,
      seconds: Math.round((performance.now() - begun) / 100) / 10,
      answered,
      refused,
      before: Math.round(before),
      peak: Math.round(peakOf(pid)),
    };
  });
}

function toMarkdown(tables: Record<string, Record<string, string | number>[]>): string {
  const table = (rows: Record<string, string | number>[]) => {
    const names = Object.keys(rows[0] ?? {});
    const line = (cells: unknown[]) => `| ${cells.join(' | ')} |`;
    const body = rows.map((row) => line(names.map((name) => row[name]!.toLocaleString('en'))));
    return [line(names), line(names.map((_name, i) => (i ? '--:' : '---'))), ...body].join('\n');
  };
  const date = new Date().toISOString().slice(0, 10);
  const parts = Object.entries(tables).map(([title, rows]) => `## ${title}\n\n${table(rows)}\n`);
  const intro = `${date}, commit ${commit()}, Node ${process.versions.node}, ${database.version}: service, PostgreSQL and clients on one machine of 2 cores. Medians of ${values.rounds} rounds.`;
  return `# Streams, events, uploads and reports\n\n${intro}\n\n${parts.join('\n')}`;
}
