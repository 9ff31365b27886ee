import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The accounts of subjects of identity providers. */
export class AccountIdentities1795312800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE account_identities (
        issuer text COLLATE "C" NOT NULL,
        subject text COLLATE "C" NOT NULL,
        account_id bigint NOT NULL CONSTRAINT account_identities_account_id_fkey REFERENCES accounts (id),
        CONSTRAINT account_identities_pkey PRIMARY KEY (issuer, subject)
      )`);
    await runner.query('CREATE INDEX account_identities_account_id_idx ON account_identities (account_id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE account_identities');
  }
}
