import { startPetstore } from '../../dist/src/index.js';

// The service without some of its features, and with others, whose file exports them as FEATURES.
const { WITHOUT, FURTHER } = process.env;
await startPetstore({
  without: WITHOUT?.split(','),
  features: FURTHER ? async () => (await import(FURTHER)).FEATURES : [],
});
