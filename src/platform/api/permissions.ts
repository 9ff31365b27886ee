import { ApiError } from './api-error.js';
import type { DeclaredPermissions } from './declared.js';

/** The name of a permission. Keys and accounts store names, so a permission never changes its meaning. */
export type Permission = keyof DeclaredPermissions;

/** Permissions with their meanings, such as `vets:read` and `vets:write`. */
export type Permissions = Readonly<Record<string, string>>;

let registered: Permissions = {};

/** Registers the permissions of all features, at the start. */
export function registerFeaturePermissions(permissions: Permissions): void {
  registered = permissions;
}

/** All permissions with their meanings, in the order of the features; complete once the features are loaded. */
export function allPermissions(): Permissions {
  return registered;
}

export function permissionNames(): Permission[] {
  return Object.keys(registered) as Permission[];
}

export function isPermission(value: unknown): value is Permission {
  return typeof value === 'string' && Object.hasOwn(registered, value);
}

/** Whether a value is a list of permissions without duplicates. */
export function arePermissions(value: unknown): value is Permission[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    new Set(value).size === value.length &&
    value.every(isPermission)
  );
}

/** The permissions of the credentials of a request. */
export interface Granted {
  /** Undefined for an access token. */
  keyId?: string;
  /** Undefined stands for all permissions. */
  permissions?: ReadonlySet<string>;
}

/**
 * @param sufficient permissions of which one is enough; an empty list requires none
 * @throws ApiError `permission_denied`, which names the missing permission
 */
export function requirePermission(
  { keyId, permissions: granted }: Granted,
  sufficient: readonly string[],
): void {
  if (!granted || sufficient.length === 0) return;
  for (const name of sufficient) if (granted.has(name)) return;
  const names = sufficient.map((name) => `\`${name}\``).join(' or ');
  if (keyId === undefined)
    throw insufficientScope(`The access token lacks the permission ${names}.`, sufficient);
  throw new ApiError('permission_denied', `The API key lacks the permission ${names}.`);
}

/** A property of a body, and the permission that each of its values needs. */
export interface NeedsByValue {
  readonly field: string;
  readonly permissions: Readonly<Record<string, Permission>>;
}

/** @throws ApiError `permission_denied` if the permission of the sent value is missing */
export function requireForBody({ field, permissions }: NeedsByValue, granted: Granted, body: unknown): void {
  const value = (body as Record<string, unknown> | null | undefined)?.[field];
  if (typeof value === 'string' && Object.hasOwn(permissions, value))
    requirePermission(granted, [permissions[value]!]);
}

/** `permission_denied` for an access token (RFC 6750, 3.1). */
export function insufficientScope(message: string, missing: readonly string[]): ApiError {
  const scope = missing.length > 0 ? `, scope="${missing.join(' ')}"` : '';
  const headers = { 'WWW-Authenticate': `Bearer realm="petstore", error="insufficient_scope"${scope}` };
  return new ApiError('permission_denied', message, { headers });
}
