import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Permissions of keys and accounts (null, as in earlier rows, means all), last use of keys, closing of accounts. */
export class Permissions1795269600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE accounts ADD COLUMN permissions text[], ADD COLUMN closed_at timestamptz(3)',
    );
    await runner.query(
      'ALTER TABLE api_keys ADD COLUMN permissions text[], ADD COLUMN last_used_at timestamptz(3)',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE api_keys DROP COLUMN permissions, DROP COLUMN last_used_at');
    await runner.query('ALTER TABLE accounts DROP COLUMN permissions, DROP COLUMN closed_at');
  }
}
