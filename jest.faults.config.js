import base from './jest.config.js';

/** Real faults on real processes: minutes, not seconds, so they are not part of `npm test`. @type {import('jest').Config} */
export default {
  ...base,
  testRegex: '/test/faults/[^/]+\\.test\\.ts$',
  globalSetup: '<rootDir>/test/faults/support/global-setup.js',
  globalTeardown: '<rootDir>/test/faults/support/global-teardown.js',
  // One at a time: each needs the whole machine.
  maxWorkers: 1,
  testTimeout: 60_000,
};
