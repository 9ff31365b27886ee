import base from './jest.config.js';

/**
 * Every panel of Swagger UI, lists of a million rows, an upgrade, the image, an identity provider, and copies of this
 * checkout with modules and all that holds for these: minutes.
 * @type {import('jest').Config}
 */
export default {
  ...base,
  globalSetup: '<rootDir>/test/long/packages/setup.js',
  testRegex: [
    '/test/long/.+\\.test\\.ts$',
    // These try more at night (`test/support/thorough.ts`).
    '/test/platform/(?:fuzz|idempotency|linearizability|operations|rows)\\.test\\.ts$',
  ],
  globals: { isThorough: true },
  testTimeout: 900_000,
};
