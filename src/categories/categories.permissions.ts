import type { Permissions } from 'petstore/platform';

export const PERMISSIONS = {
  'categories:read': 'List and fetch categories.',
  'categories:write': 'Add categories.',
} satisfies Permissions;

declare module 'petstore/platform' {
  interface DeclaredPermissions extends Record<keyof typeof PERMISSIONS, true> {}
}
