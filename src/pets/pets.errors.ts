import type { Errors } from 'petstore/platform';

export const ERRORS = {
  pet_not_found: {
    status: 404,
    meaning: 'The animal cannot be found.',
    advice: 'Check the id. Every account sees the same animals.',
  },
  pet_not_available: {
    status: 409,
    meaning: 'The animal is not available.',
    advice: 'Order another animal, or wait until this one is available again.',
  },
} satisfies Errors;

declare module 'petstore/platform' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}
