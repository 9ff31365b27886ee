import { Client } from 'pg';
import { query, type TestedService } from '../../src/testing/service.js';
import { eventually } from './npm.js';

/** Calls `ask` while a transaction with this SQL is open; commits once a statement of `ask` waits for the transaction. */
export async function behind<T>(
  { databaseUrl }: TestedService,
  sql: string,
  ask: () => Promise<T>,
): Promise<T> {
  const holder = new Client({ connectionString: databaseUrl });
  await holder.connect();
  try {
    const { rows } = await holder.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await holder.query(`BEGIN; ${sql}`);
    const asked = ask();
    const waiting = 'SELECT FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid))';
    await eventually(async () => (await query(databaseUrl, waiting, [rows[0]!.pid])).length > 0);
    await holder.query('COMMIT');
    return await asked;
  } finally {
    await holder.end();
  }
}

/** Runs `run` while a table is locked, so that every query on the table waits. */
export async function withTableLocked<T>(
  { databaseUrl }: TestedService,
  table: string,
  run: () => Promise<T>,
): Promise<T> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(`BEGIN; LOCK TABLE ${table}`);
    return await run();
  } finally {
    await client.end();
  }
}
