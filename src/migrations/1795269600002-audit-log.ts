import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AuditLog1795269600002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE audit_log (
        id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991) CONSTRAINT audit_log_pkey PRIMARY KEY,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        actor text NOT NULL CONSTRAINT audit_log_actor_check CHECK (actor IN ('account', 'operator')),
        account_id bigint NOT NULL,
        key_id bigint,
        action text NOT NULL,
        subject_id text,
        details jsonb,
        request_id text,
        address text
      )`);
    await runner.query('CREATE INDEX audit_log_account_id_id_idx ON audit_log (account_id, id)');
    await runner.query('CREATE INDEX audit_log_created_at_idx ON audit_log (created_at)');
    await appendOnly(runner);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE audit_log');
    await runner.query('DROP FUNCTION refuse_change_of_audit_log');
  }
}

/** A trigger refuses all changes of records, and the removal of records of the last 23 hours. */
async function appendOnly(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE FUNCTION refuse_change_of_audit_log() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'DELETE' AND OLD.created_at < now() - interval '23 hours' THEN RETURN OLD; END IF;
      RAISE EXCEPTION 'records of the audit log cannot be changed';
    END $$`);
  await runner.query(`
    CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE ON audit_log
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_audit_log()`);
}
