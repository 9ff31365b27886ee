import type { Declarations } from 'petstore/platform';

export const DECLARATIONS = {
  permissions: {
    'messages:read': 'Fetch your messages.',
    'messages:write': 'Submit messages.',
  },
  errors: {
    message_not_found: { status: 404, meaning: 'The message cannot be found.' },
  },
} satisfies Declarations;

declare module 'petstore/platform' {
  interface DeclaredFeatures {
    messages: typeof DECLARATIONS;
  }
}
