import type { Errors } from 'petstore/platform';

export const ERRORS = {
  order_not_found: { status: 404, meaning: 'The order cannot be found.' },
  invalid_transition: {
    status: 409,
    meaning: 'The order cannot go from its present status to this one.',
    advice: 'Fetch the order, and see which status it has.',
  },
} satisfies Errors;

declare module 'petstore/platform' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}
