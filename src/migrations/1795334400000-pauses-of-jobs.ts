import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Gives unfinished jobs pg-boss's settings for retries: until now, the worker itself decided about retries. */
const WAITING = `
  UPDATE pgboss.job SET
    retry_limit = retry_count + 42, retry_delay = 3, retry_backoff = true, retry_delay_max = 3600,
    deletion_seconds = 30 * 24 * 3600
  WHERE state IN ('created', 'retry', 'active') AND name NOT LIKE '\\_\\_pgboss%'`;

/** Adds a failed job for each failed message: until now, a failed message's job was deleted. */
const FAILED = `
  INSERT INTO pgboss.job (id, name, state, output, created_on, started_on, completed_on, keep_until, policy,
    retry_limit, retry_delay, retry_backoff, retry_delay_max, expire_seconds, heartbeat_seconds, deletion_seconds)
  SELECT id, 'messages', 'failed', jsonb_build_object('reason', failure), created_at, created_at, now(),
    now() + interval '60 years', 'standard', 42, 3, true, 3600, 120, 20, 30 * 24 * 3600
  FROM messages WHERE status = 'failed' AND failure IS NOT NULL
  ON CONFLICT (name, id) DO UPDATE SET state = 'failed', output = excluded.output`;

/**
 * pg-boss retries jobs of earlier releases like new ones: for about a day, with pauses of an hour at most. Failed jobs stay
 * failed, and each failed message has one.
 */
export class PausesOfJobs1795334400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const [{ exists }] = await runner.manager.query<[{ exists: boolean }]>(
      `SELECT to_regclass('pgboss.job') IS NOT NULL AS exists`,
    );
    // In a new database, pg-boss creates its tables later.
    if (!exists) return;
    await runner.query(WAITING);
    await runner.query(FAILED);
  }

  /** Keeps the jobs' settings: an earlier release follows them, and lists failed messages from `messages`. */
  async down(runner: QueryRunner): Promise<void> {
    const [{ exists }] = await runner.manager.query<[{ exists: boolean }]>(
      `SELECT to_regclass('pgboss.job') IS NOT NULL AS exists`,
    );
    if (exists) await runner.query(`DELETE FROM pgboss.job WHERE name = 'messages' AND state = 'failed'`);
  }
}
