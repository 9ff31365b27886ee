import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Where keys may be used from, null standing for everywhere, as all could before. */
export class KeyNetworks1795305600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE api_keys ADD COLUMN networks text[]');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE api_keys DROP COLUMN networks');
  }
}
