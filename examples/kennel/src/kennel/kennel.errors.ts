import type { Errors } from 'petstore/platform';

export const ERRORS = {
  dog_not_found: { status: 404, meaning: 'The dog cannot be found.' },
  photo_not_found: { status: 404, meaning: 'The photo cannot be found.' },
} satisfies Errors;

declare module 'petstore/platform' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}
