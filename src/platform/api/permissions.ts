/**
 * Every permission there is, and what it lets a key do. A module adds its own: those of its tag, such as `vets:read` and
 * `vets:write`. Keys and accounts store their names, so a permission never changes its meaning.
 */
export const PERMISSIONS = {
  'pets:read': 'List and fetch animals.',
  'pets:write': 'Add animals.',
  'categories:read': 'List and fetch categories.',
  'categories:write': 'Add categories.',
  'orders:read': 'List and fetch your orders.',
  'orders:write': 'Place orders, and cancel yours.',
  'orders:manage': 'Approve and deliver orders.',
  'messages:read': 'Fetch your messages.',
  'messages:write': 'Submit messages.',
} as const;

export type Permission = keyof typeof PERMISSIONS;

/** Their names, in the order of the list. */
export const PERMISSION_NAMES = Object.keys(PERMISSIONS) as Permission[];

export function isPermission(value: unknown): value is Permission {
  return typeof value === 'string' && Object.hasOwn(PERMISSIONS, value);
}

/** Whether a value is a list of permissions, none of them twice. */
export function arePermissions(value: unknown): value is Permission[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= PERMISSION_NAMES.length &&
    new Set(value).size === value.length &&
    value.every(isPermission)
  );
}
