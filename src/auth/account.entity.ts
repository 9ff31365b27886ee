import { Column, CreateDateColumn, Entity, Index } from 'typeorm';
import { IdColumn } from 'petstore/platform';

/** A user of the service. Emails are unique regardless of case: the index is on `lower(email COLLATE "C")`. */
@Entity('accounts')
@Index('accounts_email_key', { synchronize: false })
@Index('accounts_normal_email_key', { synchronize: false })
export class Account {
  @IdColumn('accounts_pkey')
  id!: string;

  @Column('text')
  email!: string;

  /** Argon2id in the PHC string format; read only by queries that name the column. */
  @Column('text', { name: 'password_hash', select: false, comment: 'secret' })
  passwordHash!: string;

  /** Permissions that the account's keys can have; null for all. */
  @Column('text', { array: true, nullable: true })
  permissions!: string[] | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt!: Date;

  /** When the account was closed; it then has no email and no password. */
  @Column({ type: 'timestamptz', name: 'closed_at', precision: 3, nullable: true })
  closedAt!: Date | null;
}

/** Visible ASCII characters (RFC 5321); a sign-up checks an email in full. */
const EMAIL = /^[!-~]{1,254}$/;

/**
 * The normal form of an email, for comparison: ASCII letters in lower case; null for a text that no account can have. Other
 * alphabets are not folded, as each program folds them differently: `i` is the lower case of `İ` in PostgreSQL, but not in
 * JavaScript. For ASCII, `lower` with the collation "C" gives the same result, whatever the locale of the database.
 */
export function normalEmail(text: string): string | null {
  return EMAIL.test(text) ? text.toLowerCase() : null;
}
