import { declareErrors } from '../platform/api/error-codes.js';

const ERRORS = declareErrors({
  owner_not_found: { status: 404, meaning: 'The owner cannot be found.' },
  owner_has_visits: { status: 409, meaning: 'There are visits of the owner.' },
});

declare module '../platform/api/error-codes.js' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}
