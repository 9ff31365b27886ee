import { declarePermissions } from 'petstore/platform';

const PERMISSIONS = declarePermissions({
  'pets:read': 'List and fetch animals.',
  'pets:write': 'Add animals.',
});

declare module 'petstore/platform' {
  interface DeclaredPermissions extends Record<keyof typeof PERMISSIONS, true> {}
}
