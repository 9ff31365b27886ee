import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Status and headers of stored answers; null in answers stored by 1.0.0, which may still run. */
export class HeadsOfAnswers1795309200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE idempotency_keys ADD COLUMN head jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE idempotency_keys DROP COLUMN head');
  }
}
