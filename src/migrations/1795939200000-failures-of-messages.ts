import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Until now, a message stayed `queued` for ever if the last try of its job was cut off. */
export class FailuresOfMessages1795939200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const [{ exists }] = await runner.manager.query<[{ exists: boolean }]>(
      `SELECT to_regclass('pgboss.job') IS NOT NULL AS exists`,
    );
    // A new database gets these tables later.
    if (!exists) return;
    await runner.query(`
      UPDATE messages SET status = 'failed', failure = 'The last try was cut off' FROM pgboss.job
      WHERE job.name = 'messages' AND job.state = 'failed' AND messages.id = job.id AND messages.status = 'queued'`);
  }

  /** They have failed, also for an earlier release. */
  async down(): Promise<void> {}
}
