import { query } from '../../src/testing/service.js';

/** Adds a job by SQL, as operators do, so that the job of a schedule runs at once. */
export async function addJob(databaseUrl: string, queue: string): Promise<void> {
  await query(databaseUrl, `INSERT INTO pgboss.job (name, data) VALUES ($1, '{"payload":{}}')`, [queue]);
}
