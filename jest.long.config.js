import base from './jest.config.js';

/**
 * Every panel of Swagger UI, lists of a million rows, the tests of the last release, the image, an identity provider, and
 * copies of this checkout with modules and all that holds for these: minutes.
 * @type {import('jest').Config}
 */
export default {
  ...base,
  testMatch: [
    '<rootDir>/test/image/*.test.ts',
    '<rootDir>/test/modules/*.test.ts',
    '<rootDir>/test/providers/*.test.ts',
    '<rootDir>/test/extending.test.ts',
    '<rootDir>/test/browser.test.ts',
    '<rootDir>/test/lists.test.ts',
    '<rootDir>/test/upgrade.test.ts',
  ],
  testPathIgnorePatterns: ['/node_modules/'],
  globals: { isThorough: true },
};
