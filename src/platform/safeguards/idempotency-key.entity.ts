import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** A stored answer without its body. */
export interface AnswerHead {
  status: number;
  /** The headers that the method has set. */
  headers: Record<string, number | string | string[]>;
  /** The table of the row that the body holds, as `to_jsonb` writes it; undefined where the body is the answer itself. */
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

  /** SHA-256 of method, path and body, as `fingerprintOf` computes it; in rows of 1.x, of the bytes of the body. */
  @Column({ type: 'bytea', name: 'request_hash' })
  requestHash!: Buffer;

  /** The `Location` of an answer stored as a row. */
  @Column('text', { nullable: true })
  location!: string | null;

  /** The body of the answer byte for byte, or its row. */
  @Column('text')
  body!: string;

  /** Null in rows of release 1.0.0: the status was then that of the operation. */
  @Column('jsonb', { nullable: true })
  head!: AnswerHead | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt!: Date;
}
