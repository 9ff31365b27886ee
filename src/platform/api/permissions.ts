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
