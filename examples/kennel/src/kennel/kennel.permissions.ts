import type { Permissions } from 'petstore/platform';

export const PERMISSIONS = {
  'kennel:read': 'Search, export and watch your dogs, and see their photos.',
  'kennel:write': 'Add and replace your dogs and their photos.',
} satisfies Permissions;

declare module 'petstore/platform' {
  interface DeclaredPermissions extends Record<keyof typeof PERMISSIONS, true> {}
}
