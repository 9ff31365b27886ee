import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { EmbeddedPostgres } from '../src/platform/database/embedded/embedded-postgres.js';
import { PLACED_AT } from './wire.js';

export const PETS = 100_000;

/** An id of a category and an animal that a double cannot hold: servers must keep its digits. */
export const BIG_ID = '9007199254740993';

/** The account of all requests. */
export const EMAIL = 'bench@example.com';
const ACCOUNT = `(SELECT id FROM accounts WHERE email = '${EMAIL}')`;

/** Animals that can be ordered, or orders that can be approved and their animals, with consecutive ids. */
export interface Supply {
  first: number;
  firstPet: number;
  count: number;
}

/** The database of a run, created on the PostgreSQL of `BENCH_DATABASE_URL` or on an embedded one. */
export class Database {
  private static readonly open = new Set<Database>();

  private constructor(
    readonly url: string,
    private readonly client: Client,
    /** Process id of the postmaster, PostgreSQL's parent process; undefined if it runs on another machine. */
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
    const remove = async () => {
      await client.end();
      await runOnce(server.url, `DROP DATABASE ${name} WITH (FORCE)`);
      await server.stop();
    };
    const version = rows[0].version.split(' on ')[0];
    const database = new Database(url.href, client, parentOf(rows[0].pid), version, remove);
    Database.open.add(database);
    return database;
  }

  /** Closes all open databases. */
  static async closeAll(): Promise<void> {
    const databases = [...Database.open];
    Database.open.clear();
    await Promise.allSettled(databases.map((database) => database.remove()));
  }

  /** Fills the service's tables: animals of every status with ids up to `PETS`, and one with `BIG_ID`. */
  async seed(): Promise<void> {
    const statuses = `'{available,available,available,available,pending,pending,sold,sold,sold,NULL}'::text[]`;
    await this.addPets(PETS, `(${statuses})[i % 10 + 1]`);
    await this.client.query(
      `INSERT INTO categories (id, name) OVERRIDING SYSTEM VALUE VALUES (${BIG_ID}, 'Axolotls');
       INSERT INTO pets (id, name, category_id) OVERRIDING SYSTEM VALUE VALUES (${BIG_ID}, 'Xochitl', ${BIG_ID})`,
    );
    await this.settle();
  }

  /** Adds animals. @param status SQL for the status of animal `i` */
  async addPets(count: number, status: string): Promise<Supply> {
    const { rows } = await this.client.query(
      `WITH added AS (
         INSERT INTO pets (name, category_id, status)
         SELECT 'Luna ' || i, i % 10 + 1, ${status} FROM generate_series(1, $1::bigint) AS i RETURNING id)
       SELECT min(id) AS first, max(id) AS last FROM added`,
      [count],
    );
    const [first, last] = [Number(rows[0].first), Number(rows[0].last)];
    if (last - first !== count - 1) throw new Error('Another program is adding animals to the database.');
    return { first, firstPet: first, count };
  }

  /** Adds rows that requests use up: animals that can be ordered, or orders that can be approved. */
  async addSupply(what: 'pets' | 'orders', count: number): Promise<Supply> {
    if (what === 'pets') return this.addPets(count, `'available'`);
    const { firstPet } = await this.addPets(count, `'pending'`);
    const { rows } = await this.client.query(
      `WITH added AS (
         INSERT INTO orders (account_id, pet_id, status, created_at, updated_at)
         SELECT ${ACCOUNT}, pet_id, 'placed', $3::timestamptz, $3::timestamptz
         FROM generate_series($1::bigint, $2::bigint) AS pet_id RETURNING id, pet_id)
       SELECT min(id) AS first, max(id - pet_id) - min(id - pet_id) AS spread FROM added`,
      [firstPet, firstPet + count - 1, PLACED_AT],
    );
    if (rows[0].spread !== '0') throw new Error('Another program is adding orders to the database.');
    return { first: Number(rows[0].first), firstPet, count };
  }

  /** The audit records, without ids and times, of the requests whose ids begin with a server's name. */
  async recordsOf(server: string): Promise<object[]> {
    const { rows } = await this.client.query<{ record: object }>(
      `SELECT jsonb_build_array(substr(request_id, length($1) + 1), actor, account_id, key_id, action,
           subject_id IS NOT NULL, details || '{"petId": "an id"}', address) AS record
         FROM audit_log WHERE starts_with(request_id, $1) ORDER BY record`,
      [`${server}-`],
    );
    return rows.map(({ record }) => record);
  }

  /** Lets PostgreSQL finish the pending work of earlier writes. */
  async settle(): Promise<void> {
    await this.client.query('VACUUM ANALYZE');
    await this.client.query('CHECKPOINT');
  }
}

// An interrupted run leaves nothing behind: its servers end with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void Database.closeAll().finally(() => process.exit(1)));

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
