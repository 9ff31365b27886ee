import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What jobs were told until now: their worker alone decided when one was tried again, or given up. */
const WAITING = `
  UPDATE pgboss.job SET
    retry_limit = retry_count + 42, retry_delay = 3, retry_backoff = true, retry_delay_max = 3600,
    deletion_seconds = 30 * 24 * 3600
  WHERE state IN ('created', 'retry', 'active') AND name NOT LIKE '\\_\\_pgboss%'`;

/** A failed message had no job any more. */
const FAILED = `
  INSERT INTO pgboss.job (id, name, state, output, created_on, started_on, completed_on, keep_until, policy,
    retry_limit, retry_delay, retry_backoff, retry_delay_max, expire_seconds, heartbeat_seconds, deletion_seconds)
  SELECT id, 'messages', 'failed', jsonb_build_object('reason', failure), created_at, created_at, now(),
    now() + interval '60 years', 'standard', 42, 3, true, 3600, 120, 20, 30 * 24 * 3600
  FROM messages WHERE status = 'failed' AND failure IS NOT NULL
  ON CONFLICT (name, id) DO UPDATE SET state = 'failed', output = excluded.output`;

/**
 * Jobs of earlier releases get the pauses and the end that pg-boss now gives them itself: for about a day, an hour apart at
 * most. Those that have failed stay as they are, and failed messages are among them.
 */
export class PausesOfJobs1795334400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const [{ exists }] = await runner.manager.query<[{ exists: boolean }]>(
      `SELECT to_regclass('pgboss.job') IS NOT NULL AS exists`,
    );
    // A new database gets these tables later.
    if (!exists) return;
    await runner.query(WAITING);
    await runner.query(FAILED);
  }

  /** An earlier release gives up what it is told to, and shows the failed messages by their own table. */
  async down(runner: QueryRunner): Promise<void> {
    const [{ exists }] = await runner.manager.query<[{ exists: boolean }]>(
      `SELECT to_regclass('pgboss.job') IS NOT NULL AS exists`,
    );
    if (exists) await runner.query(`DELETE FROM pgboss.job WHERE name = 'messages' AND state = 'failed'`);
  }
}
