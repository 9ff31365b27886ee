import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Emails are unique as `normalEmail` counts them, in a database of any locale: a Turkish one has `ı` as the lower case of
 * `I`. `accounts_email_key` stays for the code of 1.0.0, which looks emails up by it, until no release needs it.
 */
export class AccountEmails1795266000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE UNIQUE INDEX accounts_normal_email_key ON accounts (lower(email COLLATE "C"))`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX accounts_normal_email_key');
  }
}
