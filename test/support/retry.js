import { jest } from '@jest/globals';

// Some tests wait for what other processes do, which a busy machine can keep from them. A bug fails twice; what failed the
// first time is printed.
jest.retryTimes(1, { logErrorsBeforeRetry: true });
