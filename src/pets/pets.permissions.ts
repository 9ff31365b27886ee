import type { Permissions } from 'petstore/platform';

export const PERMISSIONS = {
  'pets:read': 'List and fetch animals.',
  'pets:write': 'Add animals.',
} satisfies Permissions;

declare module 'petstore/platform' {
  interface DeclaredPermissions extends Record<keyof typeof PERMISSIONS, true> {}
}
