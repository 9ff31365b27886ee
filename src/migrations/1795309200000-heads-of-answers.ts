import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The status and the headers of stored answers; null in those of release 1.0.0, which goes on beside it. */
export class HeadsOfAnswers1795309200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE idempotency_keys ADD COLUMN head jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE idempotency_keys DROP COLUMN head');
  }
}
