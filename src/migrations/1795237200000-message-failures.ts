import type { MigrationInterface, QueryRunner } from 'typeorm';

export class MessageFailures1795237200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE messages ADD COLUMN failure text');
    await runner.query(`CREATE INDEX messages_failed_id_idx ON messages (id) WHERE status = 'failed'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX messages_failed_id_idx');
    await runner.query('ALTER TABLE messages DROP COLUMN failure');
  }
}
