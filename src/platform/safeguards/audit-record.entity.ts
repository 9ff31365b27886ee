import { Check, Column, CreateDateColumn, Entity, Index } from 'typeorm';
import { IdColumn } from '../data/index.js';

/** What has been changed, by whom and from where. Rows are added and, when they are old, removed; never changed. */
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

  /** The name of the job or the schedule that has made the change. */
  @Column('text', { nullable: true })
  job!: string | null;

  /** Whose it is that has been changed, if it is an account's. It may refer to nothing any more. */
  @Column('bigint', { name: 'account_id', nullable: true })
  accountId!: string | null;

  /** The API key that it was changed with. */
  @Column('bigint', { name: 'key_id', nullable: true })
  keyId!: string | null;

  /** What was done, such as `order.approved`. */
  @Column('text')
  action!: string;

  /** The id of what it was done to, if that is not the account. */
  @Column('text', { name: 'subject_id', nullable: true })
  subjectId!: string | null;

  /** Facts about it; no secret and no personal text. */
  @Column('jsonb', { nullable: true })
  details!: object | null;

  @Column('text', { name: 'request_id', nullable: true })
  requestId!: string | null;

  /** The client's, as `networkOf` says. */
  @Column('text', { nullable: true })
  address!: string | null;
}
