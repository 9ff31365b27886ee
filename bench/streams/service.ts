import { startPetstore } from 'petstore';

// The service with the measured operations beside its own.
await startPetstore({ features: async () => [(await import('./feature.js')).BulkModule] });
