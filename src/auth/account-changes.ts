import { Injectable } from '@nestjs/common';
import {
  AccountClosing,
  ApiError,
  AuditLog,
  type Caller,
  HandlesJob,
  Jobs,
  Transactions,
} from 'petstore/platform';
import type { AccountChangeDto } from './account.dto.js';
import type { Account } from './account.entity.js';
import { AccountsService } from './accounts.service.js';
import { ApiKeysService } from './api-keys.service.js';
import type { Stored } from './granted.js';
import { Identities } from './identities.js';
import { KeyOwners } from './key-owners.js';
import type { Requester } from '../platform/process/index.js';
import { hashPassword } from './password.js';

/** Seconds after which no instance accepts a key of a closed account any more, and a request that it let in is over. */
const SETTLED_SECONDS = 5;

/** Jobs that clear what closed accounts have left. */
const CLEAR = 'clear-closed-account';

/** What becomes of an account and of its keys. */
@Injectable()
export class AccountChanges {
  private readonly underWay = new Map<string, Promise<void>>();

  constructor(
    private readonly accounts: AccountsService,
    private readonly apiKeys: ApiKeysService,
    private readonly owners: KeyOwners,
    private readonly identities: Identities,
    private readonly closing: AccountClosing,
    private readonly jobs: Jobs,
    private readonly transactions: Transactions,
    private readonly audit: AuditLog,
  ) {}

  /** @throws ApiError `account_exists`, and `managed_by_identity_provider` for the email or password of a subject */
  async change(
    by: Caller,
    { email, password, revokeKeys }: AccountChangeDto,
    requester?: Requester,
  ): Promise<Account> {
    const { accountId } = by;
    if ((email !== undefined || password !== undefined) && (await this.identities.hasOne(accountId)))
      throw new ApiError('managed_by_identity_provider');
    const passwordHash = password === undefined ? undefined : await hashPassword(password, requester);
    await this.changing(by, async () => {
      await this.accounts.set(accountId, { email, passwordHash });
      if (revokeKeys) await this.apiKeys.removeAll(accountId);
      const details = { email: email !== undefined, password: password !== undefined, revokeKeys };
      await this.audit.add({ by, action: 'account.changed', details });
    });
    return this.accounts.get(accountId);
  }

  /** Replaces what the keys of an account may do: an explicit list, or everything. */
  async setPermissions(by: Caller, permissions: Stored): Promise<void> {
    await this.changing(by, async () => {
      await this.accounts.set(by.accountId, { permissions });
      const details = { permissions: permissions ?? 'all' };
      await this.audit.add({ by, action: 'account.permissions_changed', details });
    });
  }

  /**
   * Closes an account: erases its personal data, revokes its keys, and ends what it has begun as `AccountClosing` knows.
   * The steps come first: if they take longer than the request may, another goes on where this one was, or waits for it.
   */
  close(by: Caller): Promise<void> {
    const { accountId } = by;
    const begun = this.underWay.get(accountId);
    if (begun) return begun;
    const closing = this.closeNow(by).finally(() => this.underWay.delete(accountId));
    this.underWay.set(accountId, closing);
    return closing;
  }

  private async closeNow(by: Caller): Promise<void> {
    const { accountId } = by;
    await this.closing.run(by);
    await this.changing(by, async () => {
      await this.closing.run(by);
      await this.apiKeys.removeAll(accountId);
      // Who closes their own account may have another; whose account an operator closes may not.
      if (!by.isOperator) await this.identities.forget(accountId);
      // No email has a space, so no one can sign up with it.
      const email = `closed account ${accountId}`;
      await this.accounts.set(accountId, { email, passwordHash: '', closedAt: new Date() });
      await this.audit.add({ by, action: 'account.closed' });
      await this.jobs.add(CLEAR, by, { startAfter: SETTLED_SECONDS });
    });
  }

  /** Ends what keys of a closed account have still added elsewhere, within the second in which that may be. */
  @HandlesJob(CLEAR, { runsInEveryRole: true })
  clear(by: Caller): Promise<void> {
    return this.closing.run(by);
  }

  private async changing(by: Caller, work: () => Promise<void>): Promise<void> {
    await this.transactions.run(async () => {
      await this.accounts.hold(by.accountId);
      await work();
    });
    this.owners.forget();
  }
}
