import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Account } from './account.entity.js';

/** The subject of an account at an identity provider. After an operator closes the account, the row keeps the subject from getting another account. */
@Entity('account_identities')
@Index('account_identities_account_id_idx', ['accountId'])
export class AccountIdentity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'account_identities_pkey', collation: 'C' })
  issuer!: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'account_identities_pkey', collation: 'C' })
  subject!: string;

  @Column('bigint', { name: 'account_id' })
  @ForeignKey(() => Account, { name: 'account_identities_account_id_fkey' })
  accountId!: string;
}
