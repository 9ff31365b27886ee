import { Injectable } from '@nestjs/common';
import { AccountClosing, ApiError, AuditLog, type Caller, HandlesJob, Jobs } from 'petstore/platform';
import { Config } from '../config.js';
import type { AccountChangeDto } from './account.dto.js';
import type { Account } from './account.entity.js';
import { AccountsService } from './accounts.service.js';
import { ApiKeysService } from './api-keys.service.js';
import type { Stored } from './granted.js';
import { Identities } from './identities.js';
import { hashPassword } from './password.js';

/**
 * Seconds until no instance accepts the keys of a closed account, and every request with such a key has ended, unless its
 * operation has a longer time limit.
 */
const KEY_EXPIRY_SECONDS = 5;

const CLEAR = 'clear-closed-account';

/** Changes of an account and its keys. */
@Injectable()
export class AccountChanges {
  private readonly closings = new Map<string, Promise<void>>();

  constructor(
    private readonly accounts: AccountsService,
    private readonly apiKeys: ApiKeysService,
    private readonly identities: Identities,
    private readonly closing: AccountClosing,
    private readonly jobs: Jobs,
    private readonly audit: AuditLog,
    private readonly config: Config,
  ) {}

  /** @throws ApiError `account_exists`, and `managed_by_identity_provider` for the email or password of a subject */
  async change(by: Caller, { email, password, revokeKeys }: AccountChangeDto): Promise<Account> {
    const { accountId } = by;
    if ((email !== undefined || password !== undefined) && (await this.identities.hasOne(accountId)))
      throw new ApiError('managed_by_identity_provider');
    const passwordHash = password === undefined ? undefined : await hashPassword(password);
    await this.apiKeys.changing(by, async () => {
      await this.accounts.set(accountId, { email, passwordHash });
      if (revokeKeys) await this.apiKeys.removeAll(accountId);
      const details = { email: email !== undefined, password: password !== undefined, revokeKeys };
      await this.audit.add({ by, action: 'account.changed', details });
    });
    return this.accounts.get(accountId);
  }

  /** Replaces the permissions of an account: an explicit list, or all. */
  async setPermissions(by: Caller, permissions: Stored): Promise<void> {
    await this.apiKeys.changing(by, async () => {
      await this.accounts.set(by.accountId, { permissions });
      const details = { permissions: permissions ?? 'all' };
      await this.audit.add({ by, action: 'account.permissions_changed', details });
    });
  }

  /**
   * Closes an account: erases its personal data, revokes its keys, and runs the steps of `AccountClosing`. The steps run
   * first: if they take longer than a request may, the next request continues or waits for them.
   */
  close(by: Caller): Promise<void> {
    const { accountId } = by;
    const current = this.closings.get(accountId);
    if (current) return current;
    const closing = this.closeNow(by).finally(() => this.closings.delete(accountId));
    this.closings.set(accountId, closing);
    return closing;
  }

  private async closeNow(by: Caller): Promise<void> {
    const { accountId } = by;
    await this.closing.run(by);
    await this.apiKeys.changing(by, async () => {
      await this.closing.run(by);
      await this.apiKeys.removeAll(accountId);
      // A subject may open another account after closing its own, but not after an operator has closed it.
      if (!by.isOperator) await this.identities.forget(accountId);
      // No email has a space, so nobody can sign up with this one.
      const email = `closed account ${accountId}`;
      await this.accounts.set(accountId, { email, passwordHash: '', closedAt: new Date() });
      await this.audit.add({ by, action: 'account.closed' });
      const payload = { accountId, isOperator: by.isOperator };
      const last = KEY_EXPIRY_SECONDS + this.config.OPERATION_MAX_SECONDS;
      const clear = (startAfter: number) => ({ payload, startAfter });
      await this.jobs.addAll(CLEAR, [clear(KEY_EXPIRY_SECONDS), clear(last)]);
    });
  }

  /**
   * Clears rows that requests with the account's keys added after the closing, such as through other instances. A job that an
   * earlier release queued contains the whole caller, also the address, which the audit log must not get.
   */
  @HandlesJob(CLEAR, { runsInEveryRole: true })
  clear({ accountId, isOperator }: Caller): Promise<void> {
    return this.closing.run({ accountId, isOperator });
  }
}
