import { mkdirSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { Category } from '../src/categories/category.entity.js';
import { Pet } from '../src/pets/pet.entity.js';
import { createKey } from './account.js';
import { addPets } from './add-pets.js';
import { Database } from './database.js';
import { type Cost, growthReport, whole } from './growth-report.js';
import { type Question, QUESTIONS } from './growth-questions.js';
import { partitionPets } from './partitions.js';
import { type RunningServer, startServer } from './servers.js';

/** What is measured side by side: so many animals, each in a database and behind a service of its own. */
const STAGES = [
  { size: 1_000, partitions: 0 },
  { size: 100_000, partitions: 0 },
  { size: 10_000_000, partitions: 0 },
  { size: 10_000_000, partitions: 20 },
];
/** Runs of each request; the median counts. */
const RUNS = 400;

interface Stage {
  title: string;
  size: number;
  database: Database;
  server: RunningServer;
  key: string;
  /** Animals added a second. */
  rate: number;
}

/** Measures the same requests on small and large tables, and writes the table of their costs. */
export async function measureGrowth(folder = 'bench/results'): Promise<void> {
  const stages: Stage[] = [];
  for (const { size, partitions } of STAGES) stages.push(await prepare(size, partitions));
  // What was written is out of the way before anything is measured.
  for (const { database } of stages) await database.settle();
  const costs = await measure(stages);
  const { rate, database } = stages.at(-1)!;
  const text = growthReport({
    titles: QUESTIONS.map(({ title }) => title),
    stages: stages.map(({ title }) => title),
    costs,
    runs: RUNS,
    rate,
    version: database.version,
  });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'growth.md'), text);
  console.log(text);
}

async function prepare(size: number, partitions: number): Promise<Stage> {
  const database = await Database.create();
  const server = await startServer('service', database.url);
  const key = await createKey(server.url);
  const begun = performance.now();
  await addPets(database.url, size);
  const rate = size / ((performance.now() - begun) / 1_000);
  if (partitions > 0) await partitionPets(database.url, size, partitions);
  const title = partitions > 0 ? `${whole(size)} in ${partitions} partitions` : whole(size);
  console.log(`${title} animals, added at ${whole(rate)} a second …`);
  return { title, size, database, server, key, rate };
}

/** The costs by stage, then by request. Requests take turns, so that what else happens on the machine meets all stages alike. */
async function measure(stages: readonly Stage[]): Promise<Cost[][]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const costs: Cost[][] = stages.map(() => []);
  for (const question of QUESTIONS) {
    const latencies: number[][] = stages.map(() => []);
    for (let i = 0; i < RUNS; i++)
      for (const [n, { server, size, key }] of stages.entries())
        latencies[n]!.push(await timeOf(server.url + question.path(size), key, agent));
    for (const [n, { database, size }] of stages.entries()) {
      const { execution, buffers } = await explain(database.url, question, size);
      costs[n]!.push({ execution, buffers, latency: median(latencies[n]!.slice(RUNS / 4)) });
    }
  }
  agent.destroy();
  return costs;
}

/** The cost of the statement that the service sends. */
async function explain(url: string, { ask }: Question, size: number): Promise<Omit<Cost, 'latency'>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { text, values } = await statementOf(url, ask, size);
  const literals = values.map((value) => `'${Array.isArray(value) ? `{${value.join()}}` : String(value)}'`);
  await client.query(`PREPARE measured AS ${text}`);
  const sql = `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE measured${literals.length ? `(${literals.join()})` : ''}`;
  const runs: { time: number; buffers: number }[] = [];
  for (let i = 0; i < RUNS; i++) {
    const { rows } = await client.query(sql);
    const { Plan: plan, 'Execution Time': time } = rows[0]['QUERY PLAN'][0];
    runs.push({ time, buffers: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'] });
  }
  await client.end();
  const warm = runs.slice(RUNS / 4);
  return { execution: median(warm.map(({ time }) => time)), buffers: median(warm.map((run) => run.buffers)) };
}

/** The statement behind a question: the data source is the service's own, and its client records what it is given. */
async function statementOf(url: string, ask: Question['ask'], size: number) {
  const noted: { text: string; values: unknown[] }[] = [];
  class NotingClient extends Client {
    override query(...args: unknown[]): never {
      const [query] = args as [{ text?: string; values?: unknown[] }];
      if (query.text) noted.push({ text: query.text, values: query.values ?? [] });
      return super.query(...(args as [string])) as never;
    }
  }
  const entities = [Pet, Category];
  const database = new DataSource({
    type: 'postgres',
    url,
    entities,
    extra: { Client: NotingClient },
  });
  await database.initialize();
  await ask(database, size);
  await database.destroy();
  return noted.at(-1)!;
}

function timeOf(url: string, key: string, agent: Agent): Promise<number> {
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: { Authorization: `Bearer ${key}` } }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url} answered ${response.statusCode}`));
      response.resume().on('end', () => resolve(performance.now() - begun));
    }).on('error', reject);
  });
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
