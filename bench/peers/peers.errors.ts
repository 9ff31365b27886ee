import { registerErrors } from '../../src/platform/api/api-error.js';

// The features' own declarations would load all of the platform, which is not what a peer is made of.
registerErrors({
  pet_not_found: { status: 404, meaning: '' },
  pet_not_available: { status: 409, meaning: '' },
  category_not_found: { status: 404, meaning: '' },
  category_exists: { status: 409, meaning: '' },
  order_not_found: { status: 404, meaning: '' },
  invalid_transition: { status: 409, meaning: '' },
  message_not_found: { status: 404, meaning: '' },
});
