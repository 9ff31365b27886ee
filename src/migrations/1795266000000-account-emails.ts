import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Emails are unique in the form of `normalEmail`, whatever the database's locale: the Turkish lower case of `I` is `ı`.
 * `accounts_email_key` stays for the queries of 1.0.0.
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
