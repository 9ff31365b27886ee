import { declareErrors } from 'petstore/platform';

const ERRORS = declareErrors({
  visit_not_found: { status: 404, meaning: 'The visit cannot be found.' },
  pet_sold: { status: 409, meaning: 'The animal is sold.' },
});

declare module 'petstore/platform' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}
