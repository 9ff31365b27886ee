import type { Permissions } from 'petstore/platform';

export const PERMISSIONS = {
  'owners:read': 'List and fetch owners.',
  'owners:write': 'Add, change and delete owners.',
} satisfies Permissions;

declare module 'petstore/platform' {
  interface DeclaredPermissions extends Record<keyof typeof PERMISSIONS, true> {}
}
