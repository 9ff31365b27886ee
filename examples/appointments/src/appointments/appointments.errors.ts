import type { Errors } from 'petstore/platform';

export const ERRORS = {
  appointment_not_found: { status: 404, meaning: 'The appointment cannot be found.' },
  appointment_final: { status: 409, meaning: 'The appointment is no longer booked.' },
} satisfies Errors;

declare module 'petstore/platform' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}
