import type { Declarations } from 'petstore/platform';

export const DECLARATIONS = {
  permissions: {
    'appointments:read': 'List and fetch your appointments.',
    'appointments:write': 'Add, change and delete your appointments.',
  },
  errors: {
    appointment_not_found: { status: 404, meaning: 'The appointment cannot be found.' },
    appointment_final: { status: 409, meaning: 'The appointment is no longer booked.' },
  },
} satisfies Declarations;

declare module 'petstore/platform' {
  interface DeclaredFeatures {
    appointments: typeof DECLARATIONS;
  }
}
