import { boot, type RunningService } from './boot.js';
import { warnOfStaleBuild } from './build-age.js';
import { readConfig, StartupError } from './config.js';

/** How long a stop may take in all beyond the requests' own grace, in milliseconds. */
const STOP_MARGIN_MS = 10_000;

warnOfStaleBuild();
try {
  const config = readConfig(process.env);
  const starting = boot(config);
  stopOnSignal(starting, config.SHUTDOWN_GRACE_MS);
  announce(await starting);
} catch (error) {
  console.error(error instanceof StartupError ? `petstore: ${error.message}` : error);
  process.exit(1);
}

/** Stops cleanly, once, at SIGTERM or SIGINT; also at SIGHUP, and when the npm that started this process is gone. */
function stopOnSignal(starting: Promise<RunningService>, graceMs: number): void {
  let stopping = false;
  const stop = async () => {
    if (stopping) return;
    stopping = true;
    setTimeout(() => process.exit(1), graceMs + STOP_MARGIN_MS).unref();
    const service = await starting;
    await service.stop();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void stop());
}

function announce({ url, dataPath, demoKey }: RunningService): void {
  const rows = [
    ['API', `${url}/v1`],
    ['Swagger UI', `${url}/docs`],
    ['Data', dataPath ?? 'the server of DATABASE_URL'],
    ...(demoKey ? [['Demo key', demoKey]] : []),
  ];
  const table = rows.map(([name, value]) => `  ${name!.padEnd(12)}${value}`);
  console.log(['', '  Pet store is running', '', ...table, ''].join('\n'));
}
