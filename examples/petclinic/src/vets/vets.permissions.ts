import { declarePermissions } from 'petstore/platform';

const PERMISSIONS = declarePermissions({
  'vets:read': 'List and fetch vets and specialties.',
  'vets:write': 'Add vets and specialties.',
});

declare module 'petstore/platform' {
  interface DeclaredPermissions extends Record<keyof typeof PERMISSIONS, true> {}
}
