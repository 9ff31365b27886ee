import type { Permissions } from 'petstore/platform';

export const PERMISSIONS = {
  'vets:read': 'List and fetch vets.',
  'vets:write': 'Add vets.',
} satisfies Permissions;

declare module 'petstore/platform' {
  interface DeclaredPermissions extends Record<keyof typeof PERMISSIONS, true> {}
}
