import { declarePermissions } from 'petstore/platform';

const PERMISSIONS = declarePermissions({
  'appointments:read': 'List and fetch your appointments.',
  'appointments:write': 'Add, change and delete your appointments.',
});

declare module 'petstore/platform' {
  interface DeclaredPermissions extends Record<keyof typeof PERMISSIONS, true> {}
}
