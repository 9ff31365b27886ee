import { mkdirSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { Category } from '../src/categories/category.entity.js';
import { Config } from '../src/config.js';
import { addPets } from '../src/commands/seed/add-pets.js';
import { STATUS_MIXES } from '../src/commands/seed/status-mixes.js';
import { Pet } from '../src/pets/pet.entity.js';
import type { Database } from './database.js';
import { type Cost, growthReport, whole } from './growth-report.js';
import { type Question, QUESTIONS } from './growth-questions.js';
import { partitionPets } from './partitions.js';
import type { RunningServer } from './servers.js';

/** Numbers of animals, one measurement after the other. */
const SIZES = [1_000, 100_000, 10_000_000];
/** The last of them are measured in as many partitions too. */
const PARTITIONS = 20;
/** Runs of each request; the median counts. */
const RUNS = 400;
/** Measures the same requests on a growing table, and writes the table of their costs. */
export async function measureGrowth(
  on: Database,
  server: RunningServer,
  key: string,
  folder = 'bench/results',
): Promise<void> {
  const config = Object.assign(new Config(), { DATABASE_URL: on.url });
  const costs: Cost[][] = [];
  let there = 0;
  let rate = 0;
  for (const size of SIZES) {
    const [count, begun] = [size - there, performance.now()];
    await addPets(config, { count, mix: STATUS_MIXES.rare, onProgress: () => {} });
    rate = count / ((performance.now() - begun) / 1_000);
    console.log(`${whole(size)} animals, added at ${whole(rate)} a second …`);
    there = size;
    await on.settle();
    costs.push(await measure(on.url, server.url, key, size));
  }
  await partitionPets(on.url, there, PARTITIONS);
  console.log(`${whole(there)} animals in ${PARTITIONS} partitions …`);
  await on.settle();
  costs.push(await measure(on.url, server.url, key, there));
  const stages = [...SIZES.map(whole), `${whole(there)} in ${PARTITIONS} partitions`];
  const titles = QUESTIONS.map(({ title }) => title);
  const text = growthReport({ titles, stages, costs, runs: RUNS, rate, version: on.version });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'growth.md'), text);
  console.log(text);
}

async function measure(databaseUrl: string, url: string, key: string, size: number): Promise<Cost[]> {
  const costs: Cost[] = [];
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (const question of QUESTIONS) {
    const { execution, buffers } = await explain(databaseUrl, question, size);
    const latencies: number[] = [];
    for (let i = 0; i < RUNS; i++) latencies.push(await timeOf(url + question.path(size), key, agent));
    costs.push({ execution, buffers, latency: median(latencies.slice(RUNS / 4)) });
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
