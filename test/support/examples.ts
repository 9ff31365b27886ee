export * from '../../src/testing/examples.js';
