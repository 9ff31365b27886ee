import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, Unique } from 'typeorm';
import { IdColumn } from 'petstore/platform';
import { Account } from './account.entity.js';

/** A key of an account. Only the hash of the key is stored. */
@Entity('api_keys')
@Unique('api_keys_hash_key', ['hash'])
@Index('api_keys_account_id_id_idx', ['accountId', 'id'])
@Check('api_keys_name_check', `char_length(name) BETWEEN 1 AND 255`)
@Check('api_keys_hash_check', `octet_length(hash) = 32`)
export class ApiKey {
  @IdColumn('api_keys_pkey')
  id!: string;

  @Column('bigint', { name: 'account_id' })
  @ForeignKey(() => Account, { name: 'api_keys_account_id_fkey' })
  accountId!: string;

  @Column('text')
  name!: string;

  /** SHA-256 of the key. */
  @Column({ type: 'bytea', comment: 'secret' })
  hash!: Buffer;

  /** The key's permissions, which the account must have too; null for all permissions of the account. */
  @Column('text', { array: true, nullable: true })
  permissions!: string[] | null;

  /** Addresses, and networks in CIDR notation, that may use the key; null for all. */
  @Column('text', { array: true, nullable: true })
  networks!: string[] | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt!: Date;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3, nullable: true })
  expiresAt!: Date | null;

  /** The hour of the last use. */
  @Column({ type: 'timestamptz', name: 'last_used_at', precision: 3, nullable: true })
  lastUsedAt!: Date | null;
}
