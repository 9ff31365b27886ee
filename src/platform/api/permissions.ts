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
