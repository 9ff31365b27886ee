import { setTimeout as sleep } from 'node:timers/promises';
import { boot } from '../../dist/src/commands/serve/boot.js';
import { readConfig } from '../../dist/src/config.js';

// Starts and stops the service again and again in one process, each time a little later after its start. It does not end
// the process: what was begun after a stop would keep it running.
for (let i = 0; i < Number(process.env.TIMES); i++) {
  const service = await boot(readConfig(process.env));
  await sleep(3 * i);
  await service.stop();
}
console.log('All have stopped.');
