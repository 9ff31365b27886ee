import { AggregatorRegistry, Gauge, type Registry } from 'prom-client';
import { answerPrimary, askPrimary, askWorkers } from '../process/index.js';

/**
 * Milliseconds to wait for a worker, which may be stopped, or busy; and in a worker for the primary, which waits for the
 * others. Prometheus waits 10 s, and a request has its answer within 3.
 */
const WAIT_MS = { worker: 1_000, primary: 2_000 };

/** In the primary: returns a function that collects the metrics of all workers that answer, and adds them up. */
export function collectMetrics(): () => Promise<string> {
  let collecting: Promise<string> | undefined;
  return () => (collecting ??= collect().finally(() => (collecting = undefined)));
}

async function collect(): Promise<string> {
  const all = await askWorkers('metrics', WAIT_MS.worker);
  const registry = AggregatorRegistry.aggregate(
    all.flatMap(({ value }) => (value ? [value as object[]] : [])),
  );
  const answered = new Gauge({
    name: 'petstore_worker_answered',
    help: 'Whether the figures of a worker are in this scrape, by its process id.',
    labelNames: ['pid'],
    registers: [registry],
  });
  for (const { worker, value } of all) answered.set({ pid: worker.process.pid! }, value ? 1 : 0);
  return registry.metrics();
}

/** In a worker: lets the primary collect the metrics of this process. */
export function offerMetrics(registry: Registry): void {
  answerPrimary({ metrics: () => registry.getMetricsAsJSON() });
}

/**
 * In a worker: the metrics of all of them. Any worker may answer a scrape, and all are one target to Prometheus.
 * @throws Error if the primary does not answer
 */
export function workersMetrics(): Promise<string> {
  return askPrimary<string>('metrics', { signal: AbortSignal.timeout(WAIT_MS.primary) });
}
