import { availableParallelism } from 'node:os';

/** @type {import('jest').Config} */
export default {
  // Ends what a test has left running.
  testEnvironment: '<rootDir>/dist/src/testing/environment.js',
  // Without `dist`. No pattern holds the path of this folder, which may be `c++` or `a [b]`.
  roots: ['<rootDir>/src', '<rootDir>/test'],
  // `npm run test:long` runs `test/long`, `npm run test:faults` runs `test/faults`.
  testRegex: ['/test/(?:platform/)?[^/]+\\.test\\.ts$', '/src/.+\\.spec\\.ts$'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^petstore/(platform|testing)$': '<rootDir>/src/$1/index.ts',
    '^petstore/product$': '<rootDir>/src/product.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
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
  // Tests also wait for time-outs and disks, so one more than the processors keeps them busy.
  maxWorkers: availableParallelism() + 1,
  testTimeout: 120_000,
};
