import { declarePermissions } from 'petstore/platform';

const PERMISSIONS = declarePermissions({
  'visits:read': 'List and fetch visits.',
  'visits:write': 'Add and delete visits.',
});

declare module 'petstore/platform' {
  interface DeclaredPermissions extends Record<keyof typeof PERMISSIONS, true> {}
}
