import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Columns whose comment begins with "secret" are in no export of an account. */
const SECRETS = ['accounts.password_hash', 'api_keys.hash', 'invitations.hash'];

export class Secrets1795320000000 implements MigrationInterface {
  up(runner: QueryRunner): Promise<void> {
    return comment(runner, `'secret'`);
  }

  down(runner: QueryRunner): Promise<void> {
    return comment(runner, 'NULL');
  }
}

async function comment(runner: QueryRunner, text: string): Promise<void> {
  for (const column of SECRETS) await runner.query(`COMMENT ON COLUMN ${column} IS ${text}`);
}
