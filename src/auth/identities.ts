import { randomUUID } from 'node:crypto';
import { Injectable, Optional } from '@nestjs/common';
import { In } from 'typeorm';
import {
  ApiError,
  FastRepository,
  InjectFastRepository,
  type Page,
  type PageQuery,
  Transactions,
  violation,
} from 'petstore/platform';
import { Config } from '../config.js';
import type { Actor } from '../platform/api/index.js';
import { AccessTokens, type TokenFacts } from './access-tokens.js';
import { AccountIdentity } from './account-identity.entity.js';
import type { Account } from './account.entity.js';
import { AccountsService } from './accounts.service.js';

type Subject = Pick<AccountIdentity, 'issuer' | 'subject'>;

const TAKEN = violation(AccountIdentity, 'account_identities_pkey', 'account_exists');

/** The accounts of an identity provider's subjects, one per subject. */
@Injectable()
export class Identities {
  constructor(
    @InjectFastRepository(AccountIdentity) private readonly identities: FastRepository<AccountIdentity>,
    private readonly accounts: AccountsService,
    private readonly transactions: Transactions,
    private readonly config: Config,
    @Optional() private readonly tokens?: AccessTokens,
  ) {}

  /** Whether a bearer token is an access token of the identity provider: such a token has three parts, an API key one. */
  isToken(token: string): boolean {
    return this.tokens !== undefined && token.split('.', 4).length === 3;
  }

  /** @throws ApiError `invalid_token`, `sign_up_closed`, `permission_denied`, `service_unavailable` */
  async read(token: string, actor: Actor): Promise<TokenFacts & { account: Account }> {
    const facts = await this.tokens!.read(token);
    const account = (await this.find(facts)) ?? (await this.signUp(facts, actor));
    if (account.closedAt) throw new ApiError('permission_denied', 'An administrator closed this account.');
    return { ...facts, account };
  }

  async list(page: PageQuery): Promise<Page<Account & Partial<Subject>>> {
    const accounts: Page<Account & Partial<Subject>> = await this.accounts.list(page);
    const accountId = In(accounts.items.map(({ id }) => id));
    const found = await this.identities.find({ where: { accountId } });
    const byAccount = new Map(found.map((identity) => [identity.accountId, identity]));
    for (const account of accounts.items) {
      const { issuer, subject } = byAccount.get(account.id) ?? {};
      Object.assign(account, { issuer, subject });
    }
    return accounts;
  }

  async hasOne(accountId: string): Promise<boolean> {
    return (await this.identities.countBy({ accountId })) > 0;
  }

  /** Frees the subject of an account for another account, in the open transaction. */
  async forget(accountId: string): Promise<void> {
    await this.transactions.manager.delete(AccountIdentity, { accountId });
  }

  /** The account of a subject, closed or not, or null. */
  async find({ issuer, subject }: Subject): Promise<Account | null> {
    const found = await this.identities.findRow({ issuer, subject });
    return found && this.accounts.find(found.accountId);
  }

  private async signUp(facts: TokenFacts, actor: Actor): Promise<Account> {
    if (this.config.OIDC_SIGN_UP === 'closed')
      throw new ApiError('sign_up_closed', 'The subject of the access token has no account here.');
    // RFC 2606 reserves `.invalid`, and nobody can guess the name.
    const placeholder = `${randomUUID()}@identity.invalid`;
    for (const email of facts.email === undefined ? [placeholder] : [facts.email, placeholder]) {
      const account = await this.add(facts, email, actor);
      if (account) return account;
    }
    throw new ApiError('service_unavailable');
  }

  /** The account of a subject, also if another request has created it; null if another account has the email. */
  private async add({ issuer, subject }: Subject, email: string, actor: Actor): Promise<Account | null> {
    try {
      return await this.transactions.run(async () => {
        // No password has this hash.
        const account = await this.accounts.add({ email, passwordHash: '' }, actor);
        await this.identities.addRow({ issuer, subject, accountId: account.id }).catch(TAKEN);
        return account;
      });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'account_exists') throw error;
      return this.find({ issuer, subject });
    }
  }
}
