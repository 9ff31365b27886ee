import type { Errors } from 'petstore/platform';

export const ERRORS = {
  message_not_found: { status: 404, meaning: 'The message cannot be found.' },
} satisfies Errors;

declare module 'petstore/platform' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}
