import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import { Account } from 'petstore/product';
import { Photo } from './photo.entity.js';

/** A dog of an account, with an id that the account has chosen. */
@Entity('dogs')
@Index('dogs_account_id_updated_at_id_idx', ['accountId', 'updatedAt', 'id'])
@Index('dogs_updated_at_idx', ['updatedAt'])
@Index('dogs_photo_id_idx', ['photoId'])
@Index('dogs_words_idx', { synchronize: false })
@Check('dogs_name_check', `char_length(name) BETWEEN 1 AND 100`)
@Check('dogs_breed_check', `char_length(breed) BETWEEN 1 AND 100`)
export class Dog {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'dogs_pkey' })
  id!: string;

  @Column('bigint', { name: 'account_id' })
  @ForeignKey(() => Account, { name: 'dogs_account_id_fkey' })
  accountId!: string;

  @Column('uuid', { name: 'photo_id', nullable: true })
  @ForeignKey(() => Photo, { name: 'dogs_photo_id_fkey', onDelete: 'SET NULL' })
  photoId!: string | null;

  @Column('text')
  name!: string;

  @Column('text')
  breed!: string;

  @Column('jsonb')
  traits!: Record<string, unknown>;

  /** PostgreSQL returns a time inside `jsonb` as a text. */
  @Column('jsonb', { nullable: true })
  vaccination!: { vaccine: string; at: Date | string; batch?: string } | null;

  @UpdateDateColumn({ type: 'timestamptz', name: 'updated_at', precision: 3 })
  updatedAt!: Date;
}
