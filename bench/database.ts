import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { EmbeddedPostgres } from '../src/platform/database/embedded/embedded-postgres.js';
import { PLACED_AT } from './entity-tag.js';

export const PETS = 100_000;

/** An id that a double cannot hold, of a category and an animal, to see whether a server keeps its digits. */
export const BIG_ID = '9007199254740993';

/** The account that all requests come from. */
export const EMAIL = 'bench@example.com';
const ACCOUNT = `(SELECT id FROM accounts WHERE email = '${EMAIL}')`;

/** Animals that can be ordered, with consecutive ids. */
export interface Pets {
  first: number;
  count: number;
}

/** Orders that were placed at `PLACED_AT` for an animal each; the ids of both are consecutive. */
export interface Orders extends Pets {
  firstPet: number;
}

/** The database of a run: created for it, on the PostgreSQL of `BENCH_DATABASE_URL` or else an embedded one. */
export class Database {
  private static readonly open = new Set<Database>();

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
    const database = new Database(
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
    Database.open.add(database);
    return database;
  }

  /** Closes all that are open. */
  static async closeAll(): Promise<void> {
    await Promise.allSettled([...Database.open].map((database) => database.close()));
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

  /** Adds animals that can be ordered. */
  addAvailablePets(count: number): Promise<Pets> {
    return this.addPets(count, 'available');
  }

  /** Adds orders that can be approved. */
  async addPlacedOrders(count: number): Promise<Orders> {
    const { first: firstPet } = await this.addPets(count, 'pending');
    const { rows } = await this.client.query(
      `WITH added AS (
         INSERT INTO orders (account_id, pet_id, status, created_at, updated_at)
         SELECT ${ACCOUNT}, pet_id, 'placed', $3::timestamptz, $3::timestamptz
         FROM generate_series($1::bigint, $2::bigint) AS pet_id RETURNING id, pet_id)
       SELECT min(id) AS first, max(id) AS last, max(id - pet_id) - min(id - pet_id) AS spread FROM added`,
      [firstPet, firstPet + count - 1, PLACED_AT],
    );
    if (rows[0].spread !== '0') throw new Error('Something else is adding orders while they are prepared.');
    return { ...consecutive(rows[0], count), firstPet };
  }

  /** Has something happen while a key is in use, as by a request that is still running. */
  async whileInUse<T>(key: string, work: () => Promise<T>): Promise<T> {
    const name = `hashtextextended($1, ${ACCOUNT})`;
    await this.client.query(`SELECT pg_advisory_lock(${name})`, [key]);
    try {
      return await work();
    } finally {
      await this.client.query(`SELECT pg_advisory_unlock(${name})`, [key]);
    }
  }

  /** Makes an answer a day older. */
  async age(key: string): Promise<void> {
    await this.client.query(
      `UPDATE idempotency_keys SET created_at = created_at - interval '1 day' WHERE key = $1`,
      [key],
    );
  }

  /** What the requests of one server have left behind, apart from ids and times: the ids of requests begin with its name. */
  async tracesOf(server: string): Promise<object[]> {
    const { rows } = await this.client.query<{ trace: object }>(
      `SELECT jsonb_build_array(substr(request_id, length($1) + 1), actor, account_id, key_id, action,
           subject_id IS NOT NULL, details || '{"petId": "an id"}', address) AS trace
         FROM audit_log WHERE starts_with(request_id, $1)
       UNION ALL
       SELECT jsonb_build_array(substr(key, length($1) + 1, 20), account_id, octet_length(request_hash), location = head->'headers'->>'location',
           (head->>'createdAt')::timestamptz = created_at, head->'status', (SELECT jsonb_agg(name ORDER BY name) FROM jsonb_object_keys((head->'headers') - 'etag') AS name))
         FROM idempotency_keys WHERE starts_with(key, $1)
       ORDER BY trace`,
      [`${server}-`],
    );
    return rows.map(({ trace }) => trace);
  }

  private async addPets(count: number, status: string): Promise<Pets> {
    const { rows } = await this.client.query(
      `WITH added AS (
         INSERT INTO pets (name, category_id, status)
         SELECT 'Rex ' || i, i % 10 + 1, $2 FROM generate_series(1, $1) AS i RETURNING id)
       SELECT min(id) AS first, max(id) AS last FROM added`,
      [count, status],
    );
    return consecutive(rows[0], count);
  }

  /** Leaves PostgreSQL no pending work for what was written so far. */
  async settle(): Promise<void> {
    await this.client.query('VACUUM ANALYZE');
    await this.client.query('CHECKPOINT');
  }

  close(): Promise<void> {
    Database.open.delete(this);
    return this.remove();
  }
}

function consecutive({ first, last }: { first: string; last: string }, count: number): Pets {
  if (Number(last) - Number(first) !== count - 1)
    throw new Error('Something else is adding rows while they are prepared.');
  return { first: Number(first), count };
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
