import { declareErrors } from '../platform/api/index.js';

const ERRORS = {
  sign_up_closed: {
    status: 403,
    meaning: 'Signing up is closed, or takes an invitation.',
    advice: 'Ask whoever runs the service for an invitation, and send it as invitation.',
  },
  api_key_not_found: { status: 404, meaning: 'The API key cannot be found.' },
  account_exists: {
    status: 409,
    meaning: 'An account with this email already exists.',
    advice: 'Use that account, or sign up with another email.',
  },
  too_many_api_keys: {
    status: 409,
    meaning: 'The account has as many API keys as it can have.',
    advice: 'Delete keys that are no longer used: lastUsedAt tells which.',
  },
};
declareErrors(ERRORS);

declare module 'petstore/platform' {
  interface DeclaredErrors extends Record<keyof typeof ERRORS, true> {}
}
