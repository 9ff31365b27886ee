import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Invitations1795269600001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE invitations (
        id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991) CONSTRAINT invitations_pkey PRIMARY KEY,
        hash bytea NOT NULL CONSTRAINT invitations_hash_key UNIQUE
          CONSTRAINT invitations_hash_check CHECK (octet_length(hash) = 32),
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        expires_at timestamptz(3)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE invitations');
  }
}
