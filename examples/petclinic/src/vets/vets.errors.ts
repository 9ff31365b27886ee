import { declareErrors } from '../platform/api/error-codes.js';

const ERRORS = declareErrors({
  vet_not_found: { status: 404, meaning: 'The vet cannot be found.' },
  specialty_not_found: { status: 404, meaning: 'The specialty cannot be found.' },
  specialty_exists: { status: 409, meaning: 'A specialty has this name already.' },
});

declare module '../platform/api/error-codes.js' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}
