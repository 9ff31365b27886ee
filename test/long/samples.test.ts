import { startService } from '../../src/testing/service.js';
import { removeFolders } from '../support/npm.js';
import { runSamples } from '../support/samples.js';

afterAll(removeFolders);

test('The code samples in TypeScript succeed as they stand, one after another, on a new service', async () => {
  const service = await startService();
  await runSamples(service, 'TypeScript');
  await service.stop();
}, 180_000);
