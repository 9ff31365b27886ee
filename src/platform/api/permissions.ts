import type { DeclaredPermissions } from './declared.js';

/** What a key can be allowed to do. Keys and accounts store the names, so a permission never changes its meaning. */
export type Permission = keyof DeclaredPermissions;

const declared: Record<string, string> = {};
let isComplete = false;

/**
 * Declares the permissions of a feature, each with what it lets a key do: those of its tag, such as `vets:read` and
 * `vets:write`.
 * @throws Error for one that is declared already, or after the list was read: `src/features.ts` does not load its feature
 */
export function declarePermissions<const Permissions extends Record<string, string>>(
  permissions: Permissions,
): Permissions {
  for (const [name, meaning] of Object.entries(permissions)) {
    if (Object.hasOwn(declared, name)) throw new Error(`The permission ${name} is declared twice.`);
    if (isComplete)
      throw new Error(
        `The permission ${name} is declared after the list of them was read: import src/features.ts before src/auth.`,
      );
    declared[name] = meaning;
  }
  return permissions;
}

/** Every permission and its meaning, in the order in which the features are loaded. From then on, none is added. */
export function allPermissions(): Readonly<Record<string, string>> {
  isComplete = true;
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
