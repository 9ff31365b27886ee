import { declareErrors } from '../platform/api/error-codes.js';

const ERRORS = declareErrors({
  vet_not_found: { status: 404, meaning: 'The vet cannot be found.' },
});

declare module '../platform/api/error-codes.js' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}
