import type { Errors } from 'petstore/platform';

export const ERRORS = {
  vet_not_found: { status: 404, meaning: 'The vet cannot be found.' },
  specialty_not_found: { status: 404, meaning: 'The specialty cannot be found.' },
  specialty_exists: { status: 409, meaning: 'A specialty has this name already.' },
} satisfies Errors;

declare module 'petstore/platform' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}
