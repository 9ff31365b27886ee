import type { Declarations } from 'petstore/platform';

export const DECLARATIONS = {
  permissions: {
    'kennel:read': 'Search, export and watch your dogs, and fetch their photos.',
    'kennel:write': 'Add and change your dogs, and add photos.',
  },
  errors: {
    dog_not_found: { status: 404, meaning: 'The dog cannot be found.' },
    photo_not_found: { status: 404, meaning: 'The photo cannot be found.' },
  },
} satisfies Declarations;

declare module 'petstore/platform' {
  interface DeclaredFeatures {
    kennel: typeof DECLARATIONS;
  }
}
