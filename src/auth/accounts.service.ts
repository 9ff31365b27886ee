import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import type { Page, PageQuery } from '../platform/api/paging.js';
import { paginate } from '../platform/data/paginate.js';
import { isPlainText } from '../platform/api/text.js';
import { violation } from '../platform/data/violations.js';
import type { NewAccountDto } from './account.dto.js';
import { Account } from './account.entity.js';
import { hashPassword, verifyPassword } from './password.js';

@Injectable()
export class AccountsService {
  constructor(@InjectRepository(Account) private readonly accounts: Repository<Account>) {}

  list(page: PageQuery): Promise<Page<Account>> {
    return paginate(this.accounts, {}, page);
  }

  /** @throws ApiError `account_exists` */
  async create({ email, password }: NewAccountDto): Promise<Account> {
    const account = this.accounts.create({ email, passwordHash: await hashPassword(password) });
    await this.accounts.insert(account).catch(violation('accounts_email_key', 'account_exists'));
    return account;
  }

  /** Replaces the password. The account's keys stay valid. */
  async setPassword(id: string, password: string): Promise<void> {
    await this.accounts.update({ id }, { passwordHash: await hashPassword(password) });
  }

  /** The id of the account with this email and password, or null; unknown emails take as long as wrong passwords. */
  async findIdByPassword(email: string, password: string): Promise<string | null> {
    const account = isPlainText(email)
      ? await this.byEmail(email).addSelect('account.passwordHash').getOne()
      : null;
    const matches = await verifyPassword(password, account?.passwordHash);
    return account && matches ? account.id : null;
  }

  /** The id of the account with this email, or null. */
  async findIdByEmail(email: string): Promise<string | null> {
    return (await this.byEmail(email).getOne())?.id ?? null;
  }

  private byEmail(email: string) {
    return this.accounts
      .createQueryBuilder('account')
      .where('lower(account.email) = lower(:email)', { email });
  }
}
