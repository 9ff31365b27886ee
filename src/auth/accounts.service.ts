import { Injectable } from '@nestjs/common';
import {
  AuditLog,
  FastRepository,
  InjectFastRepository,
  type Page,
  type PageQuery,
  Transactions,
  violation,
} from 'petstore/platform';
import { Config } from '../config.js';
import type { Actor } from '../platform/api/index.js';
import type { NewAccountDto } from './account.dto.js';
import { Account, normalEmail } from './account.entity.js';
import { Invitations } from './invitations.js';
import { hashPassword, verifyPassword } from './password.js';
import { unauthorized } from './granted.js';

@Injectable()
export class AccountsService {
  constructor(
    @InjectFastRepository(Account) private readonly accounts: FastRepository<Account>,
    private readonly transactions: Transactions,
    private readonly audit: AuditLog,
    private readonly invitations: Invitations,
    private readonly config: Config,
  ) {}

  list(page: PageQuery): Promise<Page<Account>> {
    return this.accounts.page({}, page);
  }

  /** @throws ApiError `account_exists`, and `sign_up_closed` if the invitation has been used meanwhile */
  async create({ email, password, invitation }: NewAccountDto, actor: Actor): Promise<Account> {
    const passwordHash = await hashPassword(password);
    return this.transactions.run(async () => {
      const used = actor.isOperator ? undefined : await this.invitations.use(invitation);
      const account = await this.add({ email, passwordHash }, actor);
      const by = { ...actor, accountId: account.id };
      if (used) await this.audit.add({ by, action: 'invitation.used', subjectId: used });
      return account;
    });
  }

  /** Adds an account in the open transaction. @throws ApiError `account_exists` */
  async add(values: Pick<Account, 'email' | 'passwordHash'>, actor: Actor): Promise<Account> {
    const permissions = this.config.ACCOUNT_PERMISSIONS?.split(',') ?? null;
    const account = await unlessTaken(this.accounts.addRow({ ...values, permissions }));
    const by = { ...actor, accountId: account.id };
    const details = { permissions: permissions ?? 'all' };
    await this.audit.add({ by, action: 'account.created', details });
    return account;
  }

  /** The account, closed or not, or null. */
  find(id: string): Promise<Account | null> {
    return this.accounts.findRow({ id });
  }

  /** @throws ApiError `invalid_credentials` if the account has been closed since its password was checked */
  async get(id: string): Promise<Account> {
    return requireOpen(await this.accounts.findRow({ id }));
  }

  /** The account, locked except against new references, in the open transaction. @throws ApiError `invalid_credentials` */
  async lock(id: string): Promise<Account> {
    const lock = { mode: 'for_no_key_update' as const };
    return requireOpen(await this.transactions.manager.findOne(Account, { where: { id }, lock }));
  }

  /** Sets the given values, in the open transaction. @throws ApiError `account_exists` */
  async set(id: string, values: Partial<Account>): Promise<void> {
    if (Object.values(values).every((value) => value === undefined)) return;
    await unlessTaken(this.accounts.updateRows({ id }, values));
  }

  /** The id of the account with this email and password, or null; unknown emails take as long as wrong passwords. */
  async findIdByPassword(email: string, password: string): Promise<string | null> {
    const account = await this.byEmail(email)?.addSelect('account.passwordHash').getOne();
    const matches = await verifyPassword(password, account?.passwordHash);
    return account && matches ? account.id : null;
  }

  async findByEmail(email: string): Promise<Account | null> {
    return (await this.byEmail(email)?.getOne()) ?? null;
  }

  /** A query by email; null if no account can have this email. */
  private byEmail(text: string) {
    const email = normalEmail(text);
    if (email === null) return null;
    // The expression of `accounts_normal_email_key`.
    return this.accounts
      .createQueryBuilder('account')
      .where('lower(account.email COLLATE "C") = :email', { email });
  }
}

const NORMAL_EMAIL_TAKEN = violation(Account, 'accounts_normal_email_key', 'account_exists');
const EMAIL_TAKEN = violation(Account, 'accounts_email_key', 'account_exists');

/** Refuses an email of another account, whichever of the two indexes PostgreSQL checks first. */
function unlessTaken<T>(change: Promise<T>): Promise<T> {
  return change.catch(NORMAL_EMAIL_TAKEN).catch(EMAIL_TAKEN);
}

function requireOpen(account: Account | null): Account {
  if (!account || account.closedAt) throw unauthorized('invalid_credentials');
  return account;
}
