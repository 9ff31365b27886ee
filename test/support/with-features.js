import { startPetstore } from '../../dist/src/index.js';

// The service without the features in WITHOUT, and with the `FEATURES` that the file in FURTHER exports.
const { WITHOUT, FURTHER, PRODUCT } = process.env;
await startPetstore({
  without: WITHOUT?.split(','),
  product: PRODUCT ? JSON.parse(PRODUCT) : undefined,
  features: FURTHER ? async () => (await import(FURTHER)).FEATURES : [],
});
