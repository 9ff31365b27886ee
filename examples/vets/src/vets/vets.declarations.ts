import type { Declarations } from 'petstore/platform';

export const DECLARATIONS = {
  permissions: {
    'vets:read': 'List and fetch vets.',
    'vets:write': 'Add vets.',
  },
  errors: {
    vet_not_found: { status: 404, meaning: 'The vet cannot be found.' },
  },
} satisfies Declarations;

declare module 'petstore/platform' {
  interface DeclaredFeatures {
    vets: typeof DECLARATIONS;
  }
}
