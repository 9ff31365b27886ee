import type { Declarations } from 'petstore/platform';

export const DECLARATIONS = {
  errors: {
    invalid_token: {
      status: 401,
      meaning:
        'The access token is not valid: it has expired, or the identity provider has not issued it for this service.',
      advice: 'Get another access token from the identity provider, for the audience of this service.',
    },
    sign_up_closed: {
      status: 403,
      meaning: 'Signing up is closed, or needs an invitation.',
      advice: 'Ask the administrator of the service for an invitation, and send its code as `invitation`.',
    },
    api_key_not_found: { status: 404, meaning: 'The API key cannot be found.' },
    api_key_expired: {
      status: 409,
      meaning: 'The API key has expired and cannot be replaced.',
      advice: 'Give it a later expiresAt, or create another key.',
    },
    account_exists: {
      status: 409,
      meaning: 'An account with this email already exists.',
      advice: 'Use that account, or sign up with another email.',
    },
    managed_by_identity_provider: {
      status: 409,
      meaning:
        'An identity provider manages the account, so the account has no password here, and its email cannot be changed.',
      advice: 'Change the email or the password at the identity provider.',
    },
    too_many_api_keys: {
      status: 409,
      meaning: 'The account already has the maximum of 1,000 API keys.',
      advice: 'Delete keys that are no longer used; lastUsedAt shows when a key was last used.',
    },
  },
} satisfies Declarations;

declare module 'petstore/platform' {
  interface DeclaredFeatures {
    auth: typeof DECLARATIONS;
  }
}
