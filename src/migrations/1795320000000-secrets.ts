import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Marks secret columns: exports of an account leave out columns whose comment begins with "secret". */
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
