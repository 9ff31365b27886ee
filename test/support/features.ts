import { loadParts } from '../../src/load-features.js';

// For tests of parts of the service in their own process: the features of the product, with what they declare.
await loadParts();
