import { declareErrors } from '../platform/api/error-codes.js';

const ERRORS = declareErrors({
  message_not_found: { status: 404, meaning: 'The message cannot be found.' },
});

declare module '../platform/api/error-codes.js' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}
