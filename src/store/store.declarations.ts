import type { Declarations } from 'petstore/platform';

export const DECLARATIONS = {
  permissions: {
    'orders:read': 'List and fetch your orders.',
    'orders:write': 'Place orders, and cancel yours.',
    'orders:manage': 'Approve and deliver orders.',
  },
  errors: {
    order_not_found: { status: 404, meaning: 'The order cannot be found.' },
    invalid_transition: {
      status: 409,
      meaning: 'The order cannot go from its present status to this one.',
      advice: 'Fetch the order, and see which status it has.',
    },
  },
} satisfies Declarations;

declare module 'petstore/platform' {
  interface DeclaredFeatures {
    store: typeof DECLARATIONS;
  }
}
