import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { EmbeddedPostgres } from '../src/platform/database/embedded/embedded-postgres.js';

export const PETS = 100_000;

/** An id that a double cannot hold, of a category and an animal, to see whether a server keeps its digits. */
export const BIG_ID = '9007199254740993';

/** The database of a run: created for it, on the PostgreSQL of `BENCH_DATABASE_URL` or else an embedded one. */
export class Database {
  private constructor(
    readonly url: string,
    private readonly client: Client,
    /** The process whose children serve the connections; undefined if the server is on another machine. */
    readonly postmaster: number | undefined,
    readonly version: string,
    private readonly remove: () => Promise<void>,
  ) {}

  static async create(): Promise<Database> {
    const server = await openServer();
    const name = `petstore_bench_${randomBytes(4).toString('hex')}`;
    await runOnce(server.url, `CREATE DATABASE ${name}`);
    const url = new URL(server.url);
    url.pathname = `/${name}`;
    const client = new Client({ connectionString: url.href });
    await client.connect();
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid, version()');
    return new Database(
      url.href,
      client,
      parentOf(rows[0].pid),
      rows[0].version.split(' on ')[0],
      async () => {
        await client.end();
        await runOnce(server.url, `DROP DATABASE ${name} WITH (FORCE)`);
        await server.stop();
      },
    );
  }

  /** Fills the tables that the service has created: animals of every status, one for each of `PETS` ids. */
  async seed(): Promise<void> {
    await this.client.query(
      `INSERT INTO pets (name, category_id, status)
       SELECT 'Luna ' || i, i % 10 + 1,
         (ARRAY['available', 'available', 'available', 'available', 'pending', 'pending', 'sold', 'sold', 'sold', NULL])[i % 10 + 1]
       FROM generate_series(1, $1) AS i`,
      [PETS],
    );
    await this.client.query(
      `INSERT INTO categories (id, name) OVERRIDING SYSTEM VALUE VALUES (${BIG_ID}, 'Axolotls')`,
    );
    await this.client.query(
      `INSERT INTO pets (id, name, category_id) OVERRIDING SYSTEM VALUE VALUES (${BIG_ID}, 'Xochitl', ${BIG_ID})`,
    );
    await this.settle();
  }

  /** Adds animals that can be ordered, and returns the first of their ids, which are consecutive. */
  async addAvailablePets(count: number): Promise<number> {
    const { rows } = await this.client.query(
      `WITH added AS (
         INSERT INTO pets (name, category_id, status)
         SELECT 'Rex ' || i, i % 10 + 1, 'available' FROM generate_series(1, $1) AS i RETURNING id)
       SELECT min(id) AS first, max(id) AS last FROM added`,
      [count],
    );
    const [first, last] = [Number(rows[0].first), Number(rows[0].last)];
    if (last - first !== count - 1)
      throw new Error('Something else is adding animals while they are prepared.');
    return first;
  }

  /** Leaves PostgreSQL no pending work for what was written so far. */
  async settle(): Promise<void> {
    await this.client.query('VACUUM ANALYZE');
    await this.client.query('CHECKPOINT');
  }

  close(): Promise<void> {
    return this.remove();
  }
}

async function openServer(): Promise<{ url: string; stop: () => Promise<void> }> {
  const given = process.env.BENCH_DATABASE_URL;
  if (given) return { url: given, stop: async () => {} };
  const folder = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
  // PostgreSQL runs as `nobody` if the benchmark runs as root.
  chmodSync(folder, 0o755);
  const { postgres, url } = await EmbeddedPostgres.start(folder);
  const stop = async () => {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { url, stop };
}

async function runOnce(connectionString: string, sql: string): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  await client.query(sql);
  await client.end();
}

/** The parent of a PostgreSQL process, if it runs here and the platform can tell. */
function parentOf(pid: number): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return /^Name:\s+postgres/m.test(status) ? Number(/^PPid:\s+(\d+)/m.exec(status)![1]) : undefined;
  } catch {
    return undefined;
  }
}
