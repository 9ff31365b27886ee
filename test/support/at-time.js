import { Clock } from '../../dist/src/platform/process/clock.js';
import { boot } from '../../dist/src/commands/serve/boot.js';
import { readConfig } from '../../dist/src/config.js';

// Runs the service as if it were the first of TIMES, and from SIGUSR2 on the next one.
const times = process.env.TIMES.split(',').map((time) => Date.parse(time));
process.on('SIGUSR2', () => times.shift());

class StandingClock extends Clock {
  now() {
    return times[0];
  }
}

const service = await boot(readConfig(process.env), { clock: new StandingClock() });
process.on('SIGTERM', () => void service.stop().then(() => process.exit(0)));
console.log(`API ${service.url}/v1`);
