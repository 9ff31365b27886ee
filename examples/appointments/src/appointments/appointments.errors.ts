import { declareErrors } from 'petstore/platform';

const ERRORS = declareErrors({
  appointment_not_found: { status: 404, meaning: 'The appointment cannot be found.' },
  appointment_final: {
    status: 409,
    meaning: 'The appointment was kept or cancelled.',
    advice: 'Book another appointment.',
  },
});

declare module 'petstore/platform' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}
