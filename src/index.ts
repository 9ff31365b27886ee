import cluster from 'node:cluster';
import module from 'node:module';
import type { RunningService } from './commands/serve/serve.js';
import type { Config } from './config.js';
import { loadParts, type PetstoreOptions } from './load-features.js';
import { explainListen, requirePorts } from './platform/process/claim-port.js';
import { fail, Lifecycle, requireNode } from './platform/process/lifecycle.js';

export type { PetstoreOptions, RunningService };
// Only for the compiler: the errors and permissions of the pet store.
export type * from './product.js';

/** Milliseconds that a stop may take beyond the grace period of the requests. */
const STOP_MARGIN_MS = 10_000;

/**
 * Runs the service as the program of this process: reads the environment, prepares the database, listens, and prints its
 * addresses. SIGTERM, SIGINT and SIGHUP stop the service and end the process. With `WORKERS`, each worker process runs the
 * program again. A start that fails ends the process with status 1 and a line that says why.
 * @returns once the service listens
 */
export async function startPetstore(options: PetstoreOptions = {}): Promise<RunningService> {
  // Handles signals while the configuration and the service load, for a third of a second.
  const life = new Lifecycle(0, printToTerminal);
  // Speeds up the next start on this machine.
  module.enableCompileCache?.();
  try {
    requireNode();
    const { loadConfig } = await import('./load-config.js');
    const config = await loadConfig(options);
    life.patienceMs = config.SHUTDOWN_GRACE_MS + STOP_MARGIN_MS;
    const service = await life.start((stopping) =>
      start(config, options, stopping).catch((error) => {
        throw explainListen(error, config);
      }),
    );
    if (cluster.isPrimary) announce(service, config);
    return service;
  } catch (error) {
    return fail(error);
  }
}

/** Confirms Ctrl-C at a terminal; a log for programs has no such lines. */
function printToTerminal(line: string): void {
  if (cluster.isPrimary && process.stderr.isTTY) console.error(`\n  ${line}`);
}

/** Starts a primary, a worker or a single process, and loads only the modules that this kind needs. */
async function start(
  config: Config,
  options: PetstoreOptions,
  stopping: AbortSignal,
): Promise<RunningService> {
  if (cluster.isPrimary) await requirePorts(config);
  const { takeOverLog } = await import('./platform/telemetry/index.js');
  const log = await takeOverLog(config);
  if (cluster.isPrimary && config.WORKERS > 1) {
    const { features } = await loadParts(options);
    const { bootPrimary } = await import('./commands/serve/workers.js');
    return features.run(() => bootPrimary(config, log, features, stopping));
  }
  const stopTracing = await startTracing(config);
  const parts = await loadParts(options);
  const { boot, bootWorker } = await import('./commands/serve/serve.js');
  const service = await parts.features.run(() =>
    (cluster.isWorker ? bootWorker : boot)(config, log, parts, stopping),
  );
  return { ...service, stop: () => service.stop().finally(stopTracing) };
}

/** Starts tracing if the environment asks for it. Call before loading the modules that tracing patches. */
async function startTracing(config: Config): Promise<() => Promise<void>> {
  const { sendsTraces } = await import('./config.js');
  if (!sendsTraces(config)) return async () => {};
  return (await import('./platform/telemetry/start-tracing.js')).startTracing();
}

function announce(service: RunningService, { ROLE, WORKERS }: Config): void {
  const { url, metricsUrl, dataPath, demoKey, notes } = service;
  const api = [
    ['API', `${url}/v1`],
    ['Swagger UI', `${url}/docs`],
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
