import type { Permission } from './declarations.js';
import { currentRegistry } from './registry.js';

/** All permissions with their meanings, in the order of the features. */
export function allPermissions(): Readonly<Record<string, string>> {
  return currentRegistry().permissions;
}

export function permissionNames(): Permission[] {
  return Object.keys(allPermissions()) as Permission[];
}

export function isPermission(value: unknown): value is Permission {
  return typeof value === 'string' && Object.hasOwn(allPermissions(), value);
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
