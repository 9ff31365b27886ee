import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiError, EnumField, field, type FieldOptions, ListField } from 'petstore/platform';
import {
  allPermissions,
  type AuthenticatedRequest,
  insufficientScope,
  isPermission,
  type Permission,
  permissionNames,
} from '../platform/api/index.js';

const PERMISSION = EnumField({
  description: 'What a key may do.',
  name: 'Permission',
  values: allPermissions,
});

/** A list of distinct permissions in a request. */
export function PermissionsField(options: FieldOptions) {
  return ListField({ ...options, of: PERMISSION, min: 1, max: () => permissionNames().length, unique: true });
}

/** The permissions in an answer: plain texts, as later releases may add permissions. */
export function GrantedField(options: FieldOptions) {
  return field(options, {
    schema: { type: 'array', items: { type: 'string' } },
    must: 'a list of texts',
    accepts: Array.isArray,
    nested: true,
  });
}

/** Stored permissions: null stands for all, including those of future modules. */
export type Stored = string[] | null;

/** The permissions that both the key and its account have; undefined for all. */
export function granted(ofKey: Stored, ofAccount: Stored): ReadonlySet<string> | undefined {
  if (!ofKey || !ofAccount) return ofKey || ofAccount ? new Set(ofKey ?? ofAccount) : undefined;
  return new Set(ofKey).intersection(new Set(ofAccount));
}

/** The names of stored permissions, without those of removed modules. */
export function namesOf(stored: Stored): Permission[] {
  return stored ? stored.filter(isPermission) : permissionNames();
}

/** @throws ApiError `permission_denied` for a permission that the account lacks */
export function requireOwned(permissions: readonly string[] | undefined, ofAccount: Stored): void {
  const owned = new Set<string>(namesOf(ofAccount));
  const missing = (permissions ?? []).filter((name) => !owned.has(name)).map((name) => `\`${name}\``);
  if (missing.length > 0)
    throw new ApiError('permission_denied', `The account lacks the permission ${missing.join(', ')}.`);
}

/** The permissions that the creator of a key may grant; undefined for all of the account. */
export type Ceiling = ReadonlySet<string> | undefined;

/** Injects the permissions of the access token of a request; undefined for an email and password. */
export const TokenCeiling = createParamDecorator(
  (_data: unknown, context: ExecutionContext): Ceiling =>
    context.switchToHttp().getRequest<AuthenticatedRequest>().permissions,
);

/** @throws ApiError `permission_denied` for a permission that the access token lacks */
export function requireBelow(permissions: readonly string[], ceiling: Ceiling): void {
  const missing = ceiling ? permissions.filter((name) => !ceiling.has(name)) : [];
  if (missing.length === 0 && !(ceiling && permissions.length === 0)) return;
  const names = missing.map((name) => `\`${name}\``).join(', ');
  const which = names ? `the permission ${names}` : 'any permission';
  throw insufficientScope(`The access token lacks ${which}.`, missing);
}

/** Sets the permissions that an answer shows: those of the row, or of its account. */
export function withPermissions<Row extends { permissions: Stored }>(
  row: Row,
  ofAccount: Stored = null,
): Row & { permissions: string[] } {
  return Object.assign(row, { permissions: namesOf(row.permissions ?? ofAccount) });
}

/** A 401 names the scheme to use (RFC 9110, 11.6.1), and `invalid_token` for an invalid key or token (RFC 6750, 3.1). */
export function unauthorized(
  code: 'missing_api_key' | 'invalid_api_key' | 'invalid_credentials' | 'invalid_token',
  message?: string,
): ApiError {
  const challenges = {
    missing_api_key: 'Bearer realm="petstore"',
    invalid_api_key: 'Bearer realm="petstore", error="invalid_token"',
    invalid_token: 'Bearer realm="petstore", error="invalid_token"',
    invalid_credentials: 'Basic realm="petstore", charset="UTF-8"',
  };
  return new ApiError(code, message, { headers: { 'WWW-Authenticate': challenges[code] } });
}
