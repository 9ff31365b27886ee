import { declarePermissions } from 'petstore/platform';

const PERMISSIONS = declarePermissions({
  'orders:read': 'List and fetch your orders.',
  'orders:write': 'Place orders, and cancel yours.',
  'orders:manage': 'Approve and deliver orders.',
});

declare module 'petstore/platform' {
  interface DeclaredPermissions extends Record<keyof typeof PERMISSIONS, true> {}
}
