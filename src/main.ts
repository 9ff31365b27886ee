import cluster from 'node:cluster';
import { warnOfStaleBuild } from './platform/process/build-age.js';
import { type Config, loadConfig } from './config.js';
import { fail } from './platform/process/operator-error.js';
import type { RunningService } from './platform/commands/serve/serve.js';

/** How long a stop may take beyond the grace period of the requests, in milliseconds. */
const STOP_MARGIN_MS = 10_000;
/** How often to check that npm is still there, in milliseconds. */
const NPM_WATCH_MS = 250;

const stopping = new AbortController();

if (cluster.isPrimary) warnOfStaleBuild();
try {
  const config = loadConfig();
  const starting = start(config);
  stopOnSignal(starting, config);
  const service = await starting;
  if (cluster.isPrimary && !stopping.signal.aborted) announce(service, config);
  void service.failure?.then((failure) => endAfter(failure, service, config));
} catch (error) {
  if (!stopping.signal.aborted) fail(error);
}

/** Each of the three ways to start loads only what it needs. */
async function start(config: Config): Promise<RunningService> {
  if (cluster.isPrimary && config.WORKERS > 1) {
    return (await import('./platform/commands/serve/primary.js')).bootPrimary(config, stopping.signal);
  }
  // Before the code that it traces is loaded.
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT)
    (await import('./platform/telemetry/tracing/start.js')).startTracing(config);
  if (cluster.isWorker) return (await import('./platform/commands/serve/worker.js')).bootWorker(config);
  return (await import('./platform/commands/serve/boot.js')).boot(config);
}

/** Stops cleanly, once, on SIGTERM, SIGINT or SIGHUP, and when the npm that started this process is gone. */
function stopOnSignal(starting: Promise<RunningService>, config: Config): void {
  let service: RunningService | undefined;
  starting.then((started) => (service = started)).catch(() => {});
  const stop = async () => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    setTimeout(() => process.exit(1), config.SHUTDOWN_GRACE_MS + STOP_MARGIN_MS).unref();
    // With an external database a start can wait long for the migration lock, and can be cut off safely; an embedded
    // one must be stopped first. A failed start has cleaned up after itself.
    if (!config.DATABASE_URL) await starting.catch(() => {});
    await service?.stop();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void stop());
  if (cluster.isPrimary) watchNpm(() => void stop());
}

/** Ends a service that cannot go on with status 1, unless it is being stopped anyway. */
async function endAfter(failure: Error, service: RunningService, config: Config): Promise<void> {
  if (stopping.signal.aborted) return;
  stopping.abort();
  setTimeout(() => fail(failure), config.SHUTDOWN_GRACE_MS + STOP_MARGIN_MS).unref();
  await service.stop();
  fail(failure);
}

/**
 * npm forwards only SIGTERM and SIGINT. If it dies of another signal, such as SIGHUP or SIGKILL, this process would be
 * orphaned, and keep its port and its database.
 */
function watchNpm(gone: () => void): void {
  if (!process.env.npm_lifecycle_event) return;
  const npm = process.ppid;
  setInterval(() => process.ppid !== npm && gone(), NPM_WATCH_MS).unref();
}

function announce(service: RunningService, config: Config): void {
  const { ROLE, WORKERS } = config;
  const { url, metricsUrl, dataPath, demoKey, messages } = service;
  const api = [
    ['API', `${url}/v1`],
    ['Swagger UI', `${url}/docs${fragmentFor(service, config)}`],
  ];
  const rows = [
    ...(ROLE !== 'worker' ? api : [['Health', `${url}/health/ready`]]),
    ...(metricsUrl ? [['Metrics', metricsUrl]] : []),
    ['Data', dataPath ?? 'the server of DATABASE_URL'],
    ...(demoKey ? [['Demo key', demoKey]] : []),
    ['Messages', messages],
    ...(WORKERS > 1 ? [['Workers', String(WORKERS)]] : []),
  ];
  const table = rows.map(([name, value]) => `  ${name!.padEnd(12)}${value}`);
  console.log(['', '  Pet store is running', '', ...table, ''].join('\n'));
}

/**
 * Hands the demo key to the page: no proxy and no log on the way sees the fragment of an address. Not where the document
 * names other addresses, as the page would send the key there.
 */
function fragmentFor({ demoKey }: RunningService, { BASE_URL, STAGING_URL, API_URL }: Config): string {
  return demoKey && !BASE_URL && !STAGING_URL && !API_URL ? `#key=${demoKey}` : '';
}
