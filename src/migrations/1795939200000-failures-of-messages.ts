import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Sets messages to `failed` if they stayed `queued` because their job's last try was cut off. */
export class FailuresOfMessages1795939200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const [{ exists }] = await runner.manager.query<[{ exists: boolean }]>(
      `SELECT to_regclass('pgboss.job') IS NOT NULL AS exists`,
    );
    // In a new database, pg-boss creates its tables later.
    if (!exists) return;
    await runner.query(`
      UPDATE messages SET status = 'failed', failure = 'The last try was cut off' FROM pgboss.job
      WHERE job.name = 'messages' AND job.state = 'failed' AND messages.id = job.id AND messages.status = 'queued'`);
  }

  /** Changes nothing: for an earlier release, these messages have failed too. */
  async down(): Promise<void> {}
}
