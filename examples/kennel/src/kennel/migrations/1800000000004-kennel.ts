import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Kennel1800000000004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE photos (
        id uuid CONSTRAINT photos_pkey PRIMARY KEY,
        account_id bigint NOT NULL CONSTRAINT photos_account_id_fkey REFERENCES accounts,
        type text NOT NULL CONSTRAINT photos_type_check CHECK (type IN ('image/png', 'image/jpeg')),
        caption text NOT NULL,
        content bytea NOT NULL
      )`);
    await runner.query('CREATE INDEX photos_account_id_idx ON photos (account_id)');
    await runner.query(`
      CREATE TABLE dogs (
        id uuid CONSTRAINT dogs_pkey PRIMARY KEY,
        account_id bigint NOT NULL CONSTRAINT dogs_account_id_fkey REFERENCES accounts,
        photo_id uuid CONSTRAINT dogs_photo_id_fkey REFERENCES photos ON DELETE SET NULL,
        name text NOT NULL CONSTRAINT dogs_name_check CHECK (char_length(name) BETWEEN 1 AND 100),
        breed text NOT NULL CONSTRAINT dogs_breed_check CHECK (char_length(breed) BETWEEN 1 AND 100),
        traits jsonb NOT NULL,
        vaccination jsonb,
        updated_at timestamptz(3) NOT NULL DEFAULT now()
      )`);
    await runner.query('CREATE INDEX dogs_account_id_updated_at_id_idx ON dogs (account_id, updated_at, id)');
    await runner.query('CREATE INDEX dogs_updated_at_idx ON dogs (updated_at)');
    await runner.query('CREATE INDEX dogs_photo_id_idx ON dogs (photo_id)');
    await runner.query(
      `CREATE INDEX dogs_words_idx ON dogs USING gin (to_tsvector('simple', name || ' ' || breed))`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE dogs');
    await runner.query('DROP TABLE photos');
  }
}
