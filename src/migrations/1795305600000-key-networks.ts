import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Networks from which a key may be used. Null, as in earlier keys, means any network. */
export class KeyNetworks1795305600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE api_keys ADD COLUMN networks text[]');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE api_keys DROP COLUMN networks');
  }
}
