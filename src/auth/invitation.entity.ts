import { Check, Column, CreateDateColumn, Entity, Unique } from 'typeorm';
import { IdColumn } from 'petstore/platform';

/** An invitation for one account, deleted when used. Only the hash of its code is stored. */
@Entity('invitations')
@Unique('invitations_hash_key', ['hash'])
@Check('invitations_hash_check', `octet_length(hash) = 32`)
export class Invitation {
  @IdColumn('invitations_pkey')
  id!: string;

  /** SHA-256 of the invitation's code. */
  @Column({ type: 'bytea', comment: 'secret' })
  hash!: Buffer;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt!: Date;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3, nullable: true })
  expiresAt!: Date | null;
}
