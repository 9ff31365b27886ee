import { declareErrors } from '../platform/api/error-codes.js';

const ERRORS = declareErrors({
  visit_not_found: { status: 404, meaning: 'The visit cannot be found.' },
  pet_sold: { status: 409, meaning: 'The animal is sold.' },
});

declare module '../platform/api/error-codes.js' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}
