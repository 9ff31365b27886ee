import type { RunningService } from './boot.js';
import { warnOfStaleBuild } from './build-age.js';
import { fail } from './command.js';
import { type Config, loadConfig } from './config.js';

/** How long a stop may take in all beyond the requests' own grace, in milliseconds. */
const STOP_MARGIN_MS = 10_000;
/** How often to look whether npm is still there, in milliseconds. */
const NPM_WATCH_MS = 250;

let isStopping = false;

warnOfStaleBuild();
try {
  const config = loadConfig();
  // Before the rest is loaded, which it then watches.
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT) (await import('./tracing/start.js')).startTracing(config);
  const { boot } = await import('./boot.js');
  const starting = boot(config);
  stopOnSignal(starting, config);
  const service = await starting;
  if (!isStopping) announce(service);
} catch (error) {
  fail(error);
}

/** Stops cleanly, once, at SIGTERM or SIGINT; also at SIGHUP, and when the npm that started this process is gone. */
function stopOnSignal(starting: Promise<RunningService>, config: Config): void {
  const stop = async () => {
    if (isStopping) return;
    isStopping = true;
    setTimeout(() => process.exit(1), config.SHUTDOWN_GRACE_MS + STOP_MARGIN_MS).unref();
    // A start on another's database may wait long for its turn, and leaves nothing behind when it is cut off.
    const service = await (config.DATABASE_URL ? Promise.race([starting, Promise.resolve()]) : starting);
    await service?.stop();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void stop());
  watchNpm(() => void stop());
}

/**
 * npm hands on SIGTERM and SIGINT alone. Where it ends of anything else, as of SIGHUP or SIGKILL, this process would
 * go on with its port and its database, and nobody would know of it.
 */
function watchNpm(gone: () => void): void {
  if (!process.env.npm_lifecycle_event) return;
  const npm = process.ppid;
  setInterval(() => process.ppid !== npm && gone(), NPM_WATCH_MS).unref();
}

function announce({ url, servesApi, metricsUrl, dataPath, demoKey, messages }: RunningService): void {
  const api = [
    ['API', `${url}/v1`],
    ['Swagger UI', `${url}/docs`],
  ];
  const rows = [
    ...(servesApi ? api : [['Health', `${url}/health/ready`]]),
    ...(metricsUrl ? [['Metrics', metricsUrl]] : []),
    ['Data', dataPath ?? 'the server of DATABASE_URL'],
    ...(demoKey ? [['Demo key', demoKey]] : []),
    ['Messages', messages],
  ];
  const table = rows.map(([name, value]) => `  ${name!.padEnd(12)}${value}`);
  console.log(['', '  Pet store is running', '', ...table, ''].join('\n'));
}
