import { declarePermissions } from 'petstore/platform';

const PERMISSIONS = declarePermissions({
  'vets:read': 'List and fetch vets.',
  'vets:write': 'Add vets.',
});

declare module 'petstore/platform' {
  interface DeclaredPermissions extends Record<keyof typeof PERMISSIONS, true> {}
}
