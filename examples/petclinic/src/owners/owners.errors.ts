import type { Errors } from 'petstore/platform';

export const ERRORS = {
  owner_not_found: { status: 404, meaning: 'The owner cannot be found.' },
  owner_has_visits: { status: 409, meaning: 'There are visits of the owner.' },
} satisfies Errors;

declare module 'petstore/platform' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}
