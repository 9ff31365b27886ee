import cluster from 'node:cluster';
import crypto from 'node:crypto';
import module from 'node:module';
import type { RunningService } from './commands/serve/serve.js';
import type { Config } from './config.js';
import { loadParts, type PetstoreOptions } from './load-features.js';
import { fail, Lifecycle, OperatorError } from './platform/process/lifecycle.js';

export type { PetstoreOptions, RunningService };
// With what the features of the pet store tell the compiler.
export type * from './product.js';

/** How long a stop may take beyond the grace period of the requests, in milliseconds. */
const STOP_MARGIN_MS = 10_000;

/**
 * Runs the service as the program of this process: it reads the environment, prepares the database, listens, and tells the
 * terminal where. SIGTERM, SIGINT and SIGHUP stop it, and end the process. With `WORKERS`, each further process runs the
 * program again. A start that fails ends the process with status 1 and a line that says why.
 * @returns once it serves
 */
export async function startPetstore(options: PetstoreOptions = {}): Promise<RunningService> {
  // Before the configuration, the rest of the room and the service are loaded, which takes a third of a second.
  const life = new Lifecycle(0, tellTerminal);
  // The next start on this machine has less to compile.
  module.enableCompileCache?.();
  try {
    requireNode();
    const { loadConfig } = await import('./load-config.js');
    const config = await loadConfig(options);
    life.patienceMs = config.SHUTDOWN_GRACE_MS + STOP_MARGIN_MS;
    const service = await life.start((stopping) => start(config, options, stopping));
    if (cluster.isPrimary) announce(service, config);
    return service;
  } catch (error) {
    return fail(error);
  }
}

/**
 * An older Node could not even load the rest, and would say so in its own words.
 * @throws OperatorError if this one lacks what came last of what the service needs: Argon2, in Node 24.7
 */
function requireNode(): void {
  if ('argon2' in crypto) return;
  throw new OperatorError(
    `The service needs Node 26, and this is ${process.version}. \`npm start\` runs it with the Node that npm has installed for it.`,
  );
}

/** Whoever presses Ctrl-C sees that it has worked. A log that is read by programs has no such lines. */
function tellTerminal(line: string): void {
  if (cluster.isPrimary && process.stderr.isTTY) console.error(`\n  ${line}`);
}

/** Each of the three ways to start loads only what it needs. */
async function start(
  config: Config,
  options: PetstoreOptions,
  stopping: AbortSignal,
): Promise<RunningService> {
  if (cluster.isPrimary) {
    const { requirePorts } = await import('./platform/process/claim-port.js');
    await requirePorts({ PORT: config.PORT, METRICS_PORT: config.METRICS_PORT }, config.HOST);
  }
  if (cluster.isPrimary && config.WORKERS > 1) {
    await loadParts(options);
    return (await import('./commands/serve/primary.js')).bootPrimary(config, stopping);
  }
  // Before the code that it traces is loaded.
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT)
    (await import('./platform/telemetry/start-tracing.js')).startTracing(config);
  const parts = await loadParts(options);
  if (cluster.isWorker)
    return (await import('./commands/serve/worker.js')).bootWorker(config, parts, stopping);
  return (await import('./commands/serve/boot.js')).boot(config, { parts, stopping });
}

function announce(service: RunningService, config: Config): void {
  const { ROLE, WORKERS } = config;
  const { url, metricsUrl, dataPath, demoKey, notes } = service;
  const api = [
    ['API', `${url}/v1`],
    ['Swagger UI', `${url}/docs${fragmentFor(service, config)}`],
  ];
  const rows = [
    ...(ROLE !== 'worker' ? api : [['Health', `${url}/health/ready`]]),
    ...(metricsUrl ? [['Metrics', metricsUrl]] : []),
    ['Data', dataPath ?? 'the server of DATABASE_URL'],
    ...(demoKey ? [['Demo key', demoKey]] : []),
    ...notes,
    ...(WORKERS > 1 ? [['Workers', String(WORKERS)]] : []),
  ];
  const table = rows.map(([name, value]) => `  ${name!.padEnd(12)}${value}`);
  console.log(['', '  Pet store is running', '', ...table, ''].join('\n'));
}

/**
 * Gets the demo key to the page: no proxy and no log on the way sees the fragment of an address. Not where the document
 * names other addresses, as the page would send the key there.
 */
function fragmentFor({ startCode }: RunningService, { BASE_URL, STAGING_URL, API_URL }: Config): string {
  return startCode && !BASE_URL && !STAGING_URL && !API_URL ? `#start=${startCode}` : '';
}
