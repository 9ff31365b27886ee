export * from '../../src/testing/service.js';
