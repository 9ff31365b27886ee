import type { Permissions } from 'petstore/platform';

export const PERMISSIONS = {
  'visits:read': 'List and fetch visits.',
  'visits:write': 'Add and delete visits.',
} satisfies Permissions;

declare module 'petstore/platform' {
  interface DeclaredPermissions extends Record<keyof typeof PERMISSIONS, true> {}
}
