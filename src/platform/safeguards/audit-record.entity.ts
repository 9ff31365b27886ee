import { Check, Column, CreateDateColumn, Entity, Index } from 'typeorm';
import { IdColumn } from '../data/index.js';

/** A change: who made it, and from where. Rows are inserted, deleted after retention, and never updated. */
@Entity('audit_log')
@Index('audit_log_account_id_id_idx', ['accountId', 'id'])
@Index('audit_log_created_at_idx', ['createdAt'])
@Check('audit_log_actor_check', `actor IN ('account', 'operator', 'job')`)
export class AuditRecord {
  @IdColumn('audit_log_pkey')
  id!: string;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt!: Date;

  @Column('text')
  actor!: 'account' | 'operator' | 'job';

  @Column('text', { nullable: true })
  job!: string | null;

  /** The changed resource's account, which may be closed by now; null if no account owns the resource. */
  @Column('bigint', { name: 'account_id', nullable: true })
  accountId!: string | null;

  @Column('bigint', { name: 'key_id', nullable: true })
  keyId!: string | null;

  @Column('text')
  action!: string;

  /** The id of the changed resource; null if the account itself was changed. */
  @Column('text', { name: 'subject_id', nullable: true })
  subjectId!: string | null;

  @Column('jsonb', { nullable: true })
  details!: object | null;

  @Column('text', { name: 'request_id', nullable: true })
  requestId!: string | null;

  /** The client's network, as `networkOf` computes it from the IP address. */
  @Column('text', { nullable: true })
  address!: string | null;
}
