import { AggregatorRegistry, type Registry } from 'prom-client';
import { askPrimary } from '../process/worker-channel.js';

/** In the primary: returns a function that collects the metrics of all workers and adds them up. */
export function collectMetrics(): () => Promise<string> {
  const aggregator = new AggregatorRegistry();
  return () => aggregator.clusterMetrics();
}

/** In a worker: lets the primary collect the metrics of this process. */
export function offerMetrics(registry: Registry): void {
  AggregatorRegistry.setRegistries(registry);
  // Its constructor listens for the primary.
  void new AggregatorRegistry();
}

/**
 * In a worker: the metrics of all of them. Any worker may answer a scrape, and all are one target to Prometheus.
 * @throws Error if one does not answer within 5 seconds
 */
export function workersMetrics(): Promise<string> {
  return askPrimary<string>('metrics');
}
