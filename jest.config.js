/** @type {import('jest').Config} */
export default {
  // Ends what a test has left running.
  testEnvironment: '<rootDir>/dist/src/testing/environment.js',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // `npm run test:faults` and `npm run test:long` run these.
  testPathIgnorePatterns: [
    '/node_modules/',
    '<rootDir>/test/faults/',
    '<rootDir>/test/image/',
    '<rootDir>/test/modules/',
    '<rootDir>/test/providers/',
  ],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^petstore/(platform|testing)$': '<rootDir>/src/$1/index.ts',
    '^petstore/product$': '<rootDir>/src/product.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  modulePathIgnorePatterns: ['<rootDir>/dist'],
  transform: {
    '\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2024',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
        },
      },
    ],
  },
  globalSetup: '<rootDir>/dist/src/testing/setup.js',
  globalTeardown: '<rootDir>/dist/src/testing/teardown.js',
  testSequencer: '<rootDir>/test/support/slowest-first.js',
  // One more than the cores of a small machine: two cores are then busy for 85 % of a run, as tests also wait for time-outs and
  // disks.
  maxWorkers: 3,
  testTimeout: 120_000,
};
