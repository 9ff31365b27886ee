import type { Errors } from 'petstore/platform';

export const ERRORS = {
  vet_not_found: { status: 404, meaning: 'The vet cannot be found.' },
} satisfies Errors;

declare module 'petstore/platform' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}
