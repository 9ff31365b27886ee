import { startPetstore } from '../../dist/src/index.js';

// The service without some of its features, and with those in FEATURES of another file.
const { WITHOUT, FURTHER, PRODUCT } = process.env;
await startPetstore({
  without: WITHOUT?.split(','),
  product: PRODUCT ? JSON.parse(PRODUCT) : undefined,
  features: FURTHER ? async () => (await import(FURTHER)).FEATURES : [],
});
