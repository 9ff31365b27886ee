import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from 'petstore/product';

/** A picture of an account. */
@Entity('photos')
@Index('photos_account_id_idx', ['accountId'])
@Check('photos_type_check', `type IN ('image/png', 'image/jpeg')`)
export class Photo {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'photos_pkey' })
  id!: string;

  @Column('bigint', { name: 'account_id' })
  @ForeignKey(() => Account, { name: 'photos_account_id_fkey' })
  accountId!: string;

  /** The media type. */
  @Column('text')
  type!: string;

  @Column('text')
  caption!: string;

  @Column('bytea')
  content!: Buffer;
}
