import type { Permissions } from 'petstore/platform';

export const PERMISSIONS = {
  'messages:read': 'Fetch your messages.',
  'messages:write': 'Submit messages.',
} satisfies Permissions;

declare module 'petstore/platform' {
  interface DeclaredPermissions extends Record<keyof typeof PERMISSIONS, true> {}
}
