import { startPetstore } from './index.js';

await startPetstore();
