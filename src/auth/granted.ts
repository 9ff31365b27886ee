import { ApiError } from 'petstore/platform';
import { isPermission, type Permission, permissionNames } from '../platform/api/index.js';

/** Permissions as they are stored: null stands for all, those that modules will bring included. */
export type Stored = string[] | null;

/** What a key can do: that which both it and its account may; undefined stands for everything. */
export function granted(ofKey: Stored, ofAccount: Stored): ReadonlySet<string> | undefined {
  if (!ofKey || !ofAccount) return ofKey || ofAccount ? new Set(ofKey ?? ofAccount) : undefined;
  return new Set(ofKey).intersection(new Set(ofAccount));
}

/** The names of stored permissions, without those of modules that are gone. */
export function namesOf(stored: Stored): Permission[] {
  return stored ? stored.filter(isPermission) : permissionNames();
}

/** @throws ApiError `permission_denied` where a key is to have a permission that its account lacks */
export function requireOwned(wanted: readonly string[] | undefined, ofAccount: Stored): void {
  const owned = new Set<string>(namesOf(ofAccount));
  const missing = (wanted ?? []).filter((one) => !owned.has(one)).map((one) => `\`${one}\``);
  if (missing.length > 0)
    throw new ApiError('permission_denied', `The account lacks the permission ${missing.join(', ')}.`);
}

/** Gives a row the permissions that an answer shows: its own, or those of its account. */
export function withPermissions<Row extends { permissions: Stored }>(
  row: Row,
  ofAccount: Stored = null,
): Row & { permissions: string[] } {
  return Object.assign(row, { permissions: namesOf(row.permissions ?? ofAccount) });
}
