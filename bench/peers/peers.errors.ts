import { PLATFORM_ERRORS } from '../../src/platform/api/platform.errors.js';
import { withRegistry } from '../../src/platform/api/registry.js';

// Copies: the features' own declarations would load the platform into the peer.
const ERRORS = {
  pet_not_found: { status: 404, meaning: '' },
  pet_not_available: { status: 409, meaning: '' },
  category_not_found: { status: 404, meaning: '' },
  category_exists: { status: 409, meaning: '' },
  order_not_found: { status: 404, meaning: '' },
  invalid_transition: { status: 409, meaning: '' },
  message_not_found: { status: 404, meaning: '' },
};

/** Starts a peer with the errors of the features. */
export function withErrors(start: () => void): void {
  withRegistry({ errors: { ...PLATFORM_ERRORS, ...ERRORS }, permissions: {} }, start);
}
