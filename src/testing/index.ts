// For the tests of features. `petstore/testing/setup`, `/teardown` and `/environment` are for the runner.

// The service, its database, and a wait for a condition
export { createDatabase, query, sharedService, startService, until } from './service.js';
export type { Service, TestedService } from './service.js';

// Requests, whose answers are checked against `openapi.json` of the working directory
export { call, createAccount, createKey, expectError, send, TIMESTAMP } from './client.js';
export type { Answer, CallOptions, Credentials } from './client.js';

// The examples of the document, and further facts about a feature
export { addExamples, Examples } from './examples.js';
export type { Choice, Facts } from './facts.js';

// Pages of a list
export { nextOf, walk } from './paging.js';

// Tests of every operation
export { testEveryOperation } from './every-operation.js';
