import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** What is stored of an answer beside its body. */
export interface AnswerHead {
  status: number;
  /** What the method has set. */
  headers: Record<string, number | string | string[]>;
  /** That of the row: release 1.0.0, which knows no heads, leaves the old one where it stores another answer. */
  createdAt: string;
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

  /** SHA-256 of method, path and body. */
  @Column({ type: 'bytea', name: 'request_hash' })
  requestHash!: Buffer;

  /** The `Location` of the answer, for release 1.0.0. */
  @Column('text', { nullable: true })
  location!: string | null;

  /** The body of the answer, byte for byte. */
  @Column('text')
  body!: string;

  /** None in rows of release 1.0.0: the status was then that of the operation. */
  @Column('jsonb', { nullable: true })
  head!: AnswerHead | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt!: Date;
}

/** A write that must happen once: whose it is, under which key, and the hash of the request. */
export interface KeyedRequest {
  accountId: string;
  key: string;
  requestHash: Buffer;
  /** The size of its body; 0 when left out. */
  bytes?: number;
}

/** An answer as it is stored; its body is empty if it has none. */
export interface StoredAnswer extends Pick<AnswerHead, 'headers'> {
  /** None of an answer of release 1.0.0. */
  status?: number;
  body: string;
}

/** An answer that was found. */
export type StoredRow = Omit<IdempotencyKey, 'accountId' | 'key'>;

/** What a write has found of its key. */
export interface Claim {
  /** Whether it may write under it. */
  isMine: boolean;
  stored?: StoredRow;
}
