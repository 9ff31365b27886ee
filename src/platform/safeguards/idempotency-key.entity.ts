import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** A stored answer without its body. */
export interface AnswerHead {
  status: number;
  /** The headers that the method has set. */
  headers: Record<string, number | string | string[]>;
  /** The table of the row that the body holds, as `to_json` writes it; undefined where the body is what the method returned. */
  row?: string;
  /** The query of the request, as sent; undefined where release 2.0 has stored the answer, which compared no queries. */
  query?: string;
  /** The text of the answer, if interceptors have made another one of the body; null while that is not known yet. */
  sent?: string | null;
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

  /** SHA-256 of method, path and body, as `fingerprintOf` computes it. */
  @Column({ type: 'bytea', name: 'request_hash' })
  requestHash!: Buffer;

  /** The `Location` of an answer stored as a row. */
  @Column('text', { nullable: true })
  location!: string | null;

  /** What the method returned, as JSON, or its row. */
  @Column('text')
  body!: string;

  /** Null only in the transaction that has claimed the key. */
  @Column('jsonb', { nullable: true })
  head!: AnswerHead | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt!: Date;
}
