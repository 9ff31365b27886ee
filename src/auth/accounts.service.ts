import { Injectable } from '@nestjs/common';
import type { Page, PageQuery } from '../platform/api/paging.js';
import { InjectFastRepository } from '../platform/data/data.module.js';
import { FastRepository } from '../platform/data/fast-repository.js';
import { violation } from '../platform/data/violations.js';
import type { NewAccountDto } from './account.dto.js';
import { Account } from './account.entity.js';
import { normalEmail } from './email.js';
import type { Requester } from './fair-queue.js';
import { hashPassword, verifyPassword } from './password.js';

@Injectable()
export class AccountsService {
  constructor(@InjectFastRepository(Account) private readonly accounts: FastRepository<Account>) {}

  list(page: PageQuery): Promise<Page<Account>> {
    return this.accounts.page({}, page);
  }

  /** @throws ApiError `account_exists`, by whichever of the two indexes PostgreSQL looks at first */
  async create({ email, password }: NewAccountDto, requester?: Requester): Promise<Account> {
    const passwordHash = await hashPassword(password, requester);
    return this.accounts
      .addRow({ email, passwordHash })
      .catch(violation('accounts_normal_email_key', 'account_exists'))
      .catch(violation('accounts_email_key', 'account_exists'));
  }

  /** Replaces the password. The account's keys stay valid. */
  async setPassword(id: string, password: string): Promise<void> {
    await this.accounts.updateRows({ id }, { passwordHash: await hashPassword(password) });
  }

  /** The id of the account with this email and password, or null; unknown emails take as long as wrong passwords. */
  async findIdByPassword(email: string, password: string, requester: Requester): Promise<string | null> {
    const account = await this.byEmail(email)?.addSelect('account.passwordHash').getOne();
    const matches = await verifyPassword(password, account?.passwordHash, requester);
    return account && matches ? account.id : null;
  }

  /** The id of the account with this email, or null. */
  async findIdByEmail(email: string): Promise<string | null> {
    return (await this.byEmail(email)?.getOne())?.id ?? null;
  }

  /** Null if no account can have this email. */
  private byEmail(text: string) {
    const email = normalEmail(text);
    if (email === null) return null;
    // The expression of `accounts_normal_email_key`.
    return this.accounts
      .createQueryBuilder('account')
      .where('lower(account.email COLLATE "C") = :email', { email });
  }
}
