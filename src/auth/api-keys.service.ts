import { Injectable } from '@nestjs/common';
import {
  ApiError,
  AuditLog,
  type Caller,
  FastRepository,
  InjectFastRepository,
  type Page,
  type PageQuery,
  Transactions,
} from 'petstore/platform';
import type { Account } from './account.entity.js';
import { AccountsService } from './accounts.service.js';
import type { ApiKeyChangeDto, ApiKeyRollDto, NewApiKeyDto } from './api-key.dto.js';
import { ApiKey } from './api-key.entity.js';
import {
  type Ceiling,
  namesOf,
  requireBelow,
  requireOwned,
  unauthorized,
  withPermissions,
} from './granted.js';
import { KeyOwners } from './key-owners.js';
import { canonicalNetworks } from './networks.js';
import { hashSecret, KEYS, newSecret } from './secret.js';

/** The most keys of an account, including expired ones. */
const MAX_KEYS = 1_000;

type NewKey = Pick<ApiKey, 'accountId' | 'name' | 'permissions' | 'networks' | 'expiresAt'>;
type Shown = ApiKey & { permissions: string[] };
type Created = Shown & { key: string };

/** The API keys of each account. `KeyOwners.forget` says when a change takes effect. */
@Injectable()
export class ApiKeysService {
  constructor(
    @InjectFastRepository(ApiKey) private readonly apiKeys: FastRepository<ApiKey>,
    private readonly accounts: AccountsService,
    private readonly owners: KeyOwners,
    private readonly transactions: Transactions,
    private readonly audit: AuditLog,
  ) {}

  async list(accountId: string, { ...options }: PageQuery): Promise<Page<Shown>> {
    const [account, page] = await Promise.all([
      this.accounts.get(accountId),
      this.apiKeys.page({ accountId }, options),
    ]);
    for (const key of page.items) withPermissions(key, account.permissions);
    return page as Page<Shown>;
  }

  /** Creates a key, which only this answer contains. @throws ApiError `permission_denied`, `too_many_api_keys` */
  create(by: Caller, newKey: NewApiKeyDto, ceiling?: Ceiling): Promise<Created> {
    const { accountId } = by;
    const { name, expiresAt } = newKey;
    const networks = newKey.networks && canonicalNetworks(newKey.networks);
    return this.withLockedAccount(by, async (account) => {
      const permissions =
        newKey.permissions ??
        (ceiling && namesOf(account.permissions).filter((permission) => ceiling.has(permission)));
      requireOwned(permissions, account.permissions);
      if (permissions) requireBelow(permissions, ceiling);
      const created = await this.add({
        accountId,
        name,
        expiresAt: expiresAt ?? null,
        permissions: permissions ?? null,
        networks: networks ?? null,
      });
      const details = { permissions: permissions ?? 'all', expiresAt, networks };
      await this.audit.add({ by, action: 'api_key.created', subjectId: created.id, details });
      return withPermissions(created, account.permissions);
    });
  }

  /** @throws ApiError `api_key_not_found`, `permission_denied` */
  change(by: Caller, id: string, change: ApiKeyChangeDto, ceiling?: Ceiling): Promise<Shown> {
    const { accountId } = by;
    return this.changing(by, async (account) => {
      const { name, expiresAt, permissions } = change;
      const networks = change.networks && canonicalNetworks(change.networks);
      requireOwned(permissions, account.permissions);
      const key = await this.apiKeys.changeRow({ id, accountId }, 'api_key_not_found', (row) => {
        requireBelow(namesOf(row.permissions ?? account.permissions), ceiling);
        if (permissions) requireBelow(permissions, ceiling);
        Object.assign(row, { name: name ?? row.name, permissions: permissions ?? row.permissions });
        if (expiresAt !== undefined) row.expiresAt = expiresAt;
        if (networks !== undefined) row.networks = networks;
      });
      const details = { renamed: name === undefined ? undefined : true, expiresAt, permissions, networks };
      await this.audit.add({ by, action: 'api_key.changed', subjectId: id, details });
      return withPermissions(key, account.permissions);
    });
  }

  /** Replaces a key. @throws ApiError `api_key_not_found`, `api_key_expired`, `too_many_api_keys` */
  roll(by: Caller, id: string, { overlapSeconds }: ApiKeyRollDto, ceiling?: Ceiling): Promise<Created> {
    const { accountId } = by;
    return this.changing(by, async (account) => {
      const old = await this.apiKeys.getRow({ id, accountId }, 'api_key_not_found');
      const { name, permissions, networks, expiresAt } = old;
      requireBelow(namesOf(permissions ?? account.permissions), ceiling);
      if (expiresAt && expiresAt.getTime() <= Date.now()) throw new ApiError('api_key_expired');
      const end = new Date(Date.now() + overlapSeconds * 1_000);
      if (overlapSeconds === 0) await this.remove(accountId, id);
      else if (!expiresAt || expiresAt > end) await this.apiKeys.updateRows({ id }, { expiresAt: end });
      const created = await this.add({ accountId, name, permissions, networks, expiresAt });
      const details = { apiKeyId: Number(created.id), overlapSeconds };
      await this.audit.add({ by, action: 'api_key.rolled', subjectId: id, details });
      return withPermissions(created, account.permissions);
    });
  }

  /** Revokes a key without waiting for other changes of its account: the key may have leaked. @throws `missing()` */
  async revoke(by: Caller, id: string, missing = () => new ApiError('api_key_not_found')): Promise<void> {
    await this.transactions.run(async () => {
      if (!(await this.remove(by.accountId, id))) throw missing();
      await this.audit.add({ by, action: 'api_key.revoked', subjectId: id });
    });
    this.owners.forget(by.accountId);
  }

  /** @throws ApiError `invalid_api_key` if another request has just revoked the key, `permission_denied` for a token */
  async revokeCurrent(by: Caller): Promise<void> {
    if (by.keyId === undefined)
      throw new ApiError(
        'permission_denied',
        'An access token is not an API key: only its identity provider can revoke it.',
      );
    await this.revoke(by, by.keyId, () => unauthorized('invalid_api_key'));
  }

  /** Revokes all keys of an account, in the open transaction. */
  async removeAll(accountId: string): Promise<void> {
    await this.transactions.manager.delete(ApiKey, { accountId });
  }

  /** Changes an account or its keys, in a transaction that locks the account, then calls `KeyOwners.forget`. */
  async changing<T>(by: Caller, work: (account: Account) => Promise<T>): Promise<T> {
    const result = await this.withLockedAccount(by, work);
    this.owners.forget(by.accountId);
    return result;
  }

  private withLockedAccount<T>({ accountId }: Caller, work: (account: Account) => Promise<T>): Promise<T> {
    return this.transactions.run(async () => work(await this.accounts.lock(accountId)));
  }

  /** @throws ApiError `too_many_api_keys` */
  private async add(values: NewKey): Promise<ApiKey & { key: string }> {
    const count = await this.transactions.manager.countBy(ApiKey, { accountId: values.accountId });
    if (count >= MAX_KEYS)
      throw new ApiError('too_many_api_keys', `An account has at most ${MAX_KEYS} API keys.`);
    const key = newSecret(KEYS);
    return Object.assign(await this.apiKeys.addRow({ ...values, hash: hashSecret(key) }), { key });
  }

  private async remove(accountId: string, id: string): Promise<boolean> {
    const { affected } = await this.transactions.manager.delete(ApiKey, { id, accountId });
    return affected === 1;
  }
}
