import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from '../auth/account.entity.js';

/** The queue of messages. A job has the id of its message, and no payload. */
export const QUEUE = 'messages';

export enum MessageStatus {
  Queued = 'queued',
  Delivered = 'delivered',
  Failed = 'failed',
}

@Entity('messages')
@Index('messages_account_id_idx', ['accountId'])
@Index('messages_failed_id_idx', ['id'], { where: `status = 'failed'` })
@Check('messages_message_check', `char_length(message) BETWEEN 1 AND 65536`)
@Check('messages_status_check', `status IN ('queued', 'delivered', 'failed')`)
export class Message {
  /** UUID v7 (RFC 9562): ordered by time, which keeps the index compact. */
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'messages_pkey' })
  id!: string;

  @Column('bigint', { name: 'account_id' })
  @ForeignKey(() => Account, { name: 'messages_account_id_fkey' })
  accountId!: string;

  @Column('text')
  message!: string;

  @Column('text')
  status!: MessageStatus;

  /** Why the delivery has failed, for the operator. */
  @Column('text', { nullable: true })
  failure!: string | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt!: Date;
}
