import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiError } from 'petstore/platform';
import {
  type AuthenticatedRequest,
  insufficientScope,
  isPermission,
  type Permission,
  permissionNames,
} from '../platform/api/index.js';

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

/** What may be given away by whoever makes a key; undefined stands for everything that the account may. */
export type Ceiling = ReadonlySet<string> | undefined;

/** Gives a controller method what the access token of a request may do; undefined for an email and password. */
export const TokenCeiling = createParamDecorator(
  (_data: unknown, context: ExecutionContext): Ceiling =>
    context.switchToHttp().getRequest<AuthenticatedRequest>().permissions,
);

/** @throws ApiError `permission_denied` where a key may do, or is to, what an access token may not */
export function requireBelow(wanted: readonly string[], ceiling: Ceiling): void {
  const missing = ceiling ? wanted.filter((one) => !ceiling.has(one)) : [];
  if (missing.length === 0 && !(ceiling && wanted.length === 0)) return;
  const names = missing.map((one) => `\`${one}\``).join(', ');
  throw insufficientScope(
    `The access token lacks ${names ? `the permission ${names}` : 'any permission'}.`,
    missing,
  );
}

/** Gives a row the permissions that an answer shows: its own, or those of its account. */
export function withPermissions<Row extends { permissions: Stored }>(
  row: Row,
  ofAccount: Stored = null,
): Row & { permissions: string[] } {
  return Object.assign(row, { permissions: namesOf(row.permissions ?? ofAccount) });
}
