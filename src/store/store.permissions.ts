import type { Permissions } from 'petstore/platform';

export const PERMISSIONS = {
  'orders:read': 'List and fetch your orders.',
  'orders:write': 'Place orders, and cancel yours.',
  'orders:manage': 'Approve and deliver orders.',
} satisfies Permissions;

declare module 'petstore/platform' {
  interface DeclaredPermissions extends Record<keyof typeof PERMISSIONS, true> {}
}
