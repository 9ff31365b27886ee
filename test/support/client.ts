export * from '../../src/testing/client.js';
