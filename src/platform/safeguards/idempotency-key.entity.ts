import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** A stored answer without its body. */
export interface AnswerHead {
  status: number;
  /** The headers that the method set. */
  headers: Record<string, number | string | string[]>;
  /** The table of the row in `body`, written by `to_json`; undefined if `body` is the method's result. */
  row?: string;
  /** The query string, as sent. Undefined in answers stored by release 2.0, which did not compare queries. */
  query?: string;
  /** The text sent, if interceptors changed the body; null until it is known whether they did. */
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

  /** The method's result as JSON, or the row of its `Insert`. */
  @Column('text')
  body!: string;

  /** Null in answers of release 1.0, and until the transaction that has claimed the key stores its answer. */
  @Column('jsonb', { nullable: true })
  head!: AnswerHead | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt!: Date;
}
