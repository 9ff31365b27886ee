import { Check, Column, CreateDateColumn, Entity, Unique } from 'typeorm';
import { IdColumn } from 'petstore/platform';

/** What lets one account sign up, of which only the hash is stored. It is removed when it has been used. */
@Entity('invitations')
@Unique('invitations_hash_key', ['hash'])
@Check('invitations_hash_check', `octet_length(hash) = 32`)
export class Invitation {
  @IdColumn('invitations_pkey')
  id!: string;

  /** SHA-256 of its code. */
  @Column({ type: 'bytea', comment: 'secret' })
  hash!: Buffer;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt!: Date;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3, nullable: true })
  expiresAt!: Date | null;
}
