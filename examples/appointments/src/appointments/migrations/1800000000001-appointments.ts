import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Appointments1800000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE appointments (
        id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991) CONSTRAINT appointments_pkey PRIMARY KEY,
        account_id bigint NOT NULL CONSTRAINT appointments_account_id_fkey REFERENCES accounts,
        pet_id bigint NOT NULL CONSTRAINT appointments_pet_id_fkey REFERENCES pets,
        starts_at timestamptz(3) NOT NULL,
        minutes integer NOT NULL CONSTRAINT appointments_minutes_check CHECK (minutes BETWEEN 5 AND 240),
        note text CONSTRAINT appointments_note_check CHECK (char_length(note) BETWEEN 1 AND 1000),
        status text NOT NULL CONSTRAINT appointments_status_check CHECK (status IN ('booked', 'kept', 'cancelled'))
      )`);
    await runner.query('CREATE INDEX appointments_account_id_id_idx ON appointments (account_id, id)');
    await runner.query(
      'CREATE INDEX appointments_account_id_status_id_idx ON appointments (account_id, status, id)',
    );
    await runner.query('CREATE INDEX appointments_pet_id_idx ON appointments (pet_id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE appointments');
  }
}
