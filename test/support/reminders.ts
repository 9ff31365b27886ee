import { join } from 'node:path';
import { createDatabase, query, type Service, startService } from '../../src/testing/service.js';
import { eventually, ROOT } from './npm.js';

const MAIN = 'test/support/with-reminders.js';

/** What a handler notes of each of its calls. */
export interface HandledCall {
  queue: string;
  job_id: string;
  payload: Record<string, unknown>;
  pid: number;
  at: Date;
}

/** A service with a feature that has jobs. */
export class Reminders {
  private constructor(
    readonly service: Service,
    readonly databaseUrl: string,
  ) {}

  /**
   * Starts the service on its own database, or on an earlier one that `env` names.
   * @param checkout the folder of the build
   */
  static async start(env: Record<string, string> = {}, checkout = ROOT): Promise<Reminders> {
    const databaseUrl = env.DATABASE_URL ?? (await createDatabase('TEMPLATE migrated'));
    for (const sql of [
      'CREATE TABLE IF NOT EXISTS visits (id bigint GENERATED ALWAYS AS IDENTITY)',
      `CREATE TABLE IF NOT EXISTS calls
         (queue text, job_id uuid, payload jsonb, pid int, at timestamptz DEFAULT clock_timestamp())`,
    ])
      await query(databaseUrl, sql);
    const service = await startService({ ...env, DATABASE_URL: databaseUrl }, join(checkout, MAIN));
    return new Reminders(service, databaseUrl);
  }

  /** Asks the service to add jobs in the transaction that adds a visit; returns the answer. */
  async add(given: Record<string, unknown>): Promise<string> {
    const address = /Reminders at (\S+)/.exec(this.service.output())![1]!;
    return (await fetch(address, { method: 'POST', body: JSON.stringify(given) })).text();
  }

  query<Row>(sql: string, ...values: unknown[]): Promise<Row[]> {
    return query(this.databaseUrl, sql, values);
  }

  /** The calls of handlers whose payload has this name, in order. */
  calls(name: string): Promise<HandledCall[]> {
    return this.query(`SELECT * FROM calls WHERE payload->>'name' = $1 ORDER BY at`, name);
  }

  callsOf(queue: string): Promise<HandledCall[]> {
    return this.query('SELECT * FROM calls WHERE queue = $1 ORDER BY at', queue);
  }

  /** The jobs with this name, without the copies of failed jobs in the dead letter queue. */
  jobs(name: string): Promise<{ id: string; state: string }[]> {
    return this.query(
      `SELECT id, state FROM pgboss.job WHERE data->'payload'->>'name' = $1 AND NOT starts_with(name, '__')`,
      name,
    );
  }

  async state(name: string): Promise<string | undefined> {
    return (await this.jobs(name))[0]?.state;
  }

  /** Waits until all jobs with this name are done, and so deleted. */
  async done(name: string, withinMs?: number): Promise<void> {
    await eventually(
      async () => (await this.calls(name)).length > 0 && (await this.jobs(name)).length === 0,
      withinMs,
    );
  }

  async visits(): Promise<number> {
    return (await this.query<{ count: number }>('SELECT count(*)::int FROM visits'))[0]!.count;
  }
}
