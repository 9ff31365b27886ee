import { declareErrors } from 'petstore/platform';

const ERRORS = declareErrors({
  message_not_found: { status: 404, meaning: 'The message cannot be found.' },
});

declare module 'petstore/platform' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}
