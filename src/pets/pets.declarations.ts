import type { Declarations } from 'petstore/platform';

export const DECLARATIONS = {
  permissions: {
    'pets:read': 'List and fetch animals.',
    'pets:write': 'Add animals.',
  },
  errors: {
    pet_not_found: {
      status: 404,
      meaning: 'The animal cannot be found.',
      advice: 'Check the id. Every account sees the same animals.',
    },
    pet_not_available: {
      status: 409,
      meaning: 'The animal is not available.',
      advice: 'Order another animal, or wait until this one is available again.',
    },
  },
} satisfies Declarations;

declare module 'petstore/platform' {
  interface DeclaredFeatures {
    pets: typeof DECLARATIONS;
  }
}
