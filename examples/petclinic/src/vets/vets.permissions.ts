import type { Permissions } from 'petstore/platform';

export const PERMISSIONS = {
  'vets:read': 'List and fetch vets and specialties.',
  'vets:write': 'Add vets and specialties.',
} satisfies Permissions;

declare module 'petstore/platform' {
  interface DeclaredPermissions extends Record<keyof typeof PERMISSIONS, true> {}
}
