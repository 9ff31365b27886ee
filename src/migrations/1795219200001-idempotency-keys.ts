import type { MigrationInterface, QueryRunner } from 'typeorm';

export class IdempotencyKeys1795219200001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE idempotency_keys (
        account_id bigint NOT NULL CONSTRAINT idempotency_keys_account_id_fkey REFERENCES accounts,
        key text NOT NULL CONSTRAINT idempotency_keys_key_check CHECK (char_length(key) BETWEEN 1 AND 255),
        request_hash bytea NOT NULL,
        location text,
        body text NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT idempotency_keys_pkey PRIMARY KEY (account_id, key)
      )`);
    await runner.query('CREATE INDEX idempotency_keys_created_at_idx ON idempotency_keys (created_at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE idempotency_keys');
  }
}
