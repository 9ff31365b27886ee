import { declareErrors } from 'petstore/platform';

const ERRORS = declareErrors({
  owner_not_found: { status: 404, meaning: 'The owner cannot be found.' },
  owner_has_visits: { status: 409, meaning: 'There are visits of the owner.' },
});

declare module 'petstore/platform' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}
