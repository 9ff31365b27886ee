import { parseArgs } from 'node:util';
import { Database } from './database.js';
import { createKey, type RunningServer, startServer, stopAll } from './servers.js';
import { median, provenance, toTable, whole } from './table.js';
import { cpuOfFamily } from './usage.js';
import { encodeCursor } from './wire.js';

/** Measures the same requests on growing tables. One animal in 1,000 is `available`, the others are sold. */
const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '1000,100000,10000000' },
    runs: { type: 'string', default: '2000' },
  },
});
const LIMIT = 20;

interface Stage {
  size: number;
  database: Database;
  server: RunningServer;
  key: string;
}

/** A request: at each size, its median latency in ms, and the CPU time of PostgreSQL in µs. */
interface Cost {
  title: string;
  latency: number[];
  cpu: number[];
}

const deep = (size: number, status?: string) =>
  `cursor=${encodeCursor(String(Math.floor(size * 0.9)), status)}`;
/** Ids spread over the whole table. */
const spread = (size: number) => Array.from({ length: LIMIT }, (_, i) => 1 + i * (size / LIMIT));

const REQUESTS: [title: string, path: (size: number) => string][] = [
  ['First page', () => '?limit=20'],
  ['Deep page', (size) => `?limit=20&${deep(size)}`],
  ['Page of a common status', () => '?limit=20&status=sold'],
  ['Deep page of a common status', (size) => `?limit=20&status=sold&${deep(size, 'sold')}`],
  ['Page of a rare status', () => '?limit=20&status=available'],
  ['Get by id', (size) => `/${size / 2}`],
  ['Twenty by id', (size) => `?limit=20&ids=${spread(size).join()}`],
];

try {
  const stages: Stage[] = [];
  for (const size of values.sizes.split(',').map(Number)) stages.push(await prepare(size));
  // Pending work of these writes would slow the measurement.
  for (const { database } of stages) await database.settle();
  const costs: Cost[] = [];
  for (const [title, path] of REQUESTS) costs.push(await measure(stages, title, path));
  console.log(`\n${provenance(stages[0]!.database.version)}: medians of ${values.runs} requests\n`);
  console.log(tableOf(stages, costs));
} finally {
  await stopAll();
  await Database.closeAll();
}

async function prepare(size: number): Promise<Stage> {
  const database = await Database.create();
  const server = await startServer('service', database.url);
  const key = await createKey(server);
  const begun = performance.now();
  await database.addPets(size, `CASE WHEN i % 1000 = 0 THEN 'available' ELSE 'sold' END`);
  const seconds = (performance.now() - begun) / 1_000;
  console.error(`${whole(size)} animals, added at ${whole(size / seconds)} a second …`);
  return { size, database, server, key };
}

/** The sizes alternate, so that other load on the machine affects them equally. */
async function measure(stages: Stage[], title: string, path: (size: number) => string): Promise<Cost> {
  const latencies: number[][] = stages.map(() => []);
  const ask = ({ server, size, key }: Stage) => timeOf(`${server.url}/v1/pets${path(size)}`, key);
  const runs = Number(values.runs);
  for (let i = 0; i < runs / 4; i++) for (const stage of stages) await ask(stage);
  const before = stages.map(({ database }) => cpuOfFamily(database.postmaster));
  for (let i = 0; i < runs; i++)
    for (const [n, stage] of stages.entries()) latencies[n]!.push(await ask(stage));
  const cpu = stages.map(({ database }, n) => (cpuOfFamily(database.postmaster) - before[n]!) / runs);
  return { title, latency: latencies.map(median), cpu };
}

async function timeOf(url: string, key: string): Promise<number> {
  const begun = performance.now();
  const response = await fetch(url, { headers: { Authorization: `Bearer ${key}` } });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return performance.now() - begun;
}

function tableOf(stages: Stage[], costs: Cost[]): string {
  const sizes = stages.map(({ size }) => whole(size));
  const head = [
    'Request',
    ...sizes.map((size) => `ms, ${size}`),
    'largest ÷ smallest',
    ...sizes.map((size) => `PostgreSQL CPU µs, ${size}`),
  ];
  const rows = costs.map(({ title, latency, cpu }) => [
    title,
    ...latency.map((ms) => ms.toFixed(3)),
    (latency.at(-1)! / latency[0]!).toFixed(2),
    ...cpu.map(whole),
  ]);
  return toTable(head, rows);
}
