import { Clock } from '../../dist/src/platform/process/clock.js';
import { boot } from '../../dist/src/commands/serve/boot.js';
import { readConfig } from '../../dist/src/config.js';

// Runs the service as if it were START_TIME.
const offset = Date.parse(process.env.START_TIME) - Date.now();

class ShiftedClock extends Clock {
  now() {
    return super.now() + offset;
  }
}

const service = await boot(readConfig(process.env), { clock: new ShiftedClock() });
process.on('SIGTERM', () => void service.stop().then(() => process.exit(0)));
console.log(`API ${service.url}/v1`);
