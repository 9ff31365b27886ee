import { declarePermissions } from 'petstore/platform';

const PERMISSIONS = declarePermissions({
  'categories:read': 'List and fetch categories.',
  'categories:write': 'Add categories.',
});

declare module 'petstore/platform' {
  interface DeclaredPermissions extends Record<keyof typeof PERMISSIONS, true> {}
}
