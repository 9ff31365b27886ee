import { startPetstore } from 'petstore';

// The service with what is measured beside its own operations.
await startPetstore({ features: async () => [(await import('./feature.js')).BulkModule] });
