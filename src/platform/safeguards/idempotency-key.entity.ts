import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** What is stored of an answer beside its body. */
export interface AnswerHead {
  status: number;
  /** What the method has set. */
  headers: Record<string, number | string | string[]>;
  /** The table whose row the body is, as `to_jsonb` writes it; none where the body is the answer's own. */
  row?: string;
}

/** The answer to a write that came with an `Idempotency-Key`, stored in the transaction of that write. */
@Entity('idempotency_keys')
@Index('idempotency_keys_created_at_idx', ['createdAt'])
@Check('idempotency_keys_key_check', `char_length(key) BETWEEN 1 AND 255`)
export class IdempotencyKey {
  @PrimaryColumn('bigint', { name: 'account_id', primaryKeyConstraintName: 'idempotency_keys_pkey' })
  @ForeignKey('Account', { name: 'idempotency_keys_account_id_fkey' })
  accountId!: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'idempotency_keys_pkey' })
  key!: string;

  /** SHA-256 of method, path and body, as `fingerprintOf` has them; as bytes in rows of 1.x. */
  @Column({ type: 'bytea', name: 'request_hash' })
  requestHash!: Buffer;

  /** The `Location` of the answer, where its row is stored. */
  @Column('text', { nullable: true })
  location!: string | null;

  /** The body of the answer, byte for byte, or its row. */
  @Column('text')
  body!: string;

  /** None in rows of release 1.0.0: the status was then that of the operation. */
  @Column('jsonb', { nullable: true })
  head!: AnswerHead | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt!: Date;
}
