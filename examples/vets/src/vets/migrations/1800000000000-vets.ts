import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Vets1800000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE vets (
        id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991) CONSTRAINT vets_pkey PRIMARY KEY,
        name text NOT NULL CONSTRAINT vets_name_check CHECK (char_length(name) BETWEEN 1 AND 255)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE vets');
  }
}
