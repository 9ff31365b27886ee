import { declarePermissions } from 'petstore/platform';

const PERMISSIONS = declarePermissions({
  'messages:read': 'Fetch your messages.',
  'messages:write': 'Submit messages.',
});

declare module 'petstore/platform' {
  interface DeclaredPermissions extends Record<keyof typeof PERMISSIONS, true> {}
}
