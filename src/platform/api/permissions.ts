import { ApiError } from './api-error.js';
import type { DeclaredPermissions } from './declared.js';

/** What a key can be allowed to do. Keys and accounts store the names, so a permission never changes its meaning. */
export type Permission = keyof DeclaredPermissions;

/** Permissions, each with what it lets a key do: those of a tag, such as `vets:read` and `vets:write`. */
export type Permissions = Readonly<Record<string, string>>;

let declared: Permissions = {};

/** Makes the permissions of all features known, at the start. */
export function declareFeaturePermissions(permissions: Permissions): void {
  declared = permissions;
}

/** Every permission and its meaning, in the order of the features; complete once the service has its features. */
export function allPermissions(): Permissions {
  return declared;
}

/** Their names. */
export function permissionNames(): Permission[] {
  return Object.keys(allPermissions()) as Permission[];
}

export function isPermission(value: unknown): value is Permission {
  return typeof value === 'string' && Object.hasOwn(declared, value);
}

/** Whether a value is a list of permissions, none of them twice. */
export function arePermissions(value: unknown): value is Permission[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    new Set(value).size === value.length &&
    value.every(isPermission)
  );
}

/** What the sender of a request may do. */
export interface Granted {
  /** None of an access token. */
  keyId?: string;
  /** Undefined stands for everything. */
  permissions?: ReadonlySet<string>;
}

/**
 * @param sufficient permissions of which one is enough; none need none
 * @throws ApiError `permission_denied`, which names what is missing
 */
export function requirePermission(
  { keyId, permissions: granted }: Granted,
  sufficient: readonly string[],
): void {
  if (!granted || sufficient.length === 0) return;
  for (const one of sufficient) if (granted.has(one)) return;
  const names = sufficient.map((one) => `\`${one}\``).join(' or ');
  if (keyId === undefined)
    throw insufficientScope(`The access token lacks the permission ${names}.`, sufficient);
  throw new ApiError('permission_denied', `The API key lacks the permission ${names}.`);
}

/** A property of a body, and the permission that each of its values needs. */
export interface NeedsByValue {
  readonly field: string;
  readonly permissions: Readonly<Record<string, Permission>>;
}

/** @throws ApiError `permission_denied` for a value of the body whose permission is missing */
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
