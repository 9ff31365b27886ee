import type { Errors } from 'petstore/platform';

export const ERRORS = {
  visit_not_found: { status: 404, meaning: 'The visit cannot be found.' },
  pet_sold: { status: 409, meaning: 'The animal is sold.' },
} satisfies Errors;

declare module 'petstore/platform' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}
