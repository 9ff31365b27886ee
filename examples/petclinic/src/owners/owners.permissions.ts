import { declarePermissions } from 'petstore/platform';

const PERMISSIONS = declarePermissions({
  'owners:read': 'List and fetch owners.',
  'owners:write': 'Add, change and delete owners.',
});

declare module 'petstore/platform' {
  interface DeclaredPermissions extends Record<keyof typeof PERMISSIONS, true> {}
}
