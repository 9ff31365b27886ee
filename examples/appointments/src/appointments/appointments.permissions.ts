import type { Permissions } from 'petstore/platform';

export const PERMISSIONS = {
  'appointments:read': 'List and fetch your appointments.',
  'appointments:write': 'Add, change and delete your appointments.',
} satisfies Permissions;

declare module 'petstore/platform' {
  interface DeclaredPermissions extends Record<keyof typeof PERMISSIONS, true> {}
}
