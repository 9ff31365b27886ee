import cluster from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import { Global, Injectable, Logger, Module } from '@nestjs/common';
import { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { answerPrimary, ask, askPrimary, cached, liveWorkers, RELEASE } from '../process/index.js';

/** Upper bounds, in seconds: for reads from memory, reads from the database, and requests that wait. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** How long a scrape is cached. */
const KEPT = { ms: 1_000 };

/** Milliseconds after which a metric has no value: an unreachable database must not hide the other metrics. */
const READ_MS = 500;

/**
 * Milliseconds to wait for a worker, which may be suspended or busy; in a worker, for the primary, which waits for the other
 * workers. A request is answered within 3 s.
 */
const WAIT_MS = { worker: 1_000, primary: 2_000 };

/** A value, or one for each set of labels. */
type Figures = number | { labels: Record<string, string>; value: number }[];
type Read = () => Figures | Promise<Figures>;

interface Options {
  /** How the values of several workers are combined; `sum` by default. */
  aggregator?: 'max';
}

/** A counter or gauge whose figures are read on each scrape. */
interface ReadMetric extends Options {
  type: 'counter' | 'gauge';
  name: string;
  help: string;
  read: Read;
}

/** The metrics of the service, for Prometheus. A feature registers its own. */
@Injectable()
export class Metrics {
  /** Histograms, and prom-client's metrics of the process. */
  private readonly registry = new Registry();
  private readonly readMetrics = new Map<string, ReadMetric>();
  private readonly logger = new Logger(Metrics.name);
  private readonly cachedText = cached(async () => (await this.current()).metrics(), KEPT);

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    const build = [{ labels: { release: RELEASE, node: process.version }, value: 1 }];
    this.gauge('petstore_build_info', 'Always 1; the running release, and its Node', () => build, {
      aggregator: 'max',
    });
    if (cluster.isWorker) answerPrimary({ metrics: async () => (await this.current()).getMetricsAsJSON() });
  }

  /** The content type of `text`. */
  get contentType(): string {
    return this.registry.contentType;
  }

  /** A count since the start of the process. By convention its name ends in `_total`. */
  counter(name: string, help: string, read: Read, options: Options = {}): void {
    this.register('counter', name, help, read, options);
  }

  /** A value that rises and falls. */
  gauge(name: string, help: string, read: Read, options: Options = {}): void {
    this.register('gauge', name, help, read, options);
  }

  /** Durations, in seconds. An observation takes 0.4 µs. */
  histogram<Label extends string>(name: string, help: string, labelNames: Label[]): Histogram<Label> {
    return new Histogram({ name, help, labelNames, buckets: BUCKETS, registers: [this.registry] });
  }

  /**
   * The metrics of all workers in the text format of Prometheus. A metric that cannot be read has no value. Read at most
   * once a second, however often clients scrape.
   * @throws Error in a worker, if the primary does not answer
   */
  text(): Promise<string> {
    // To Prometheus, all workers are one target: any of them answers a scrape, from the cache of the primary.
    if (cluster.isWorker) return askPrimary<string>('metrics', WAIT_MS.primary);
    return this.cachedText();
  }

  private register(type: ReadMetric['type'], name: string, help: string, read: Read, options: Options): void {
    if (this.readMetrics.has(name) || this.registry.getSingleMetric(name))
      throw new Error(`The metric ${name} is already registered.`);
    this.readMetrics.set(name, { type, name, help, read, ...options });
  }

  /** All metrics with their present figures. */
  private async current(): Promise<Registry> {
    const figures = new Registry();
    await Promise.all(Array.from(this.readMetrics.values(), (metric) => this.addTo(figures, metric)));
    return Registry.merge([this.registry, figures]);
  }

  private async addTo(registry: Registry, metric: ReadMetric): Promise<void> {
    const { type, name, help, aggregator = 'sum' as const, read } = metric;
    try {
      const reading = read();
      const figures = reading instanceof Promise ? await Promise.race([reading, timeOut()]) : reading;
      const values = typeof figures === 'number' ? [{ labels: {}, value: figures }] : figures;
      const labelNames = [...new Set(values.flatMap(({ labels }) => Object.keys(labels)))];
      const config = { name, help, aggregator, labelNames, registers: [registry] };
      const added = type === 'gauge' ? new Gauge(config) : new Counter(config);
      // A metric without labels has started at 0.
      if (values.length === 0) added.remove();
      for (const { labels, value } of values) added.inc(labels, value);
    } catch (error) {
      this.logger.debug(`${name} cannot be read: ${(error as Error).message}`);
    }
  }
}

async function timeOut(): Promise<never> {
  await sleep(READ_MS, undefined, { ref: false });
  throw new Error(`Reading the figures took more than ${READ_MS} ms.`);
}

/** In the primary: collects the metrics of all workers that answer, and aggregates them. */
export const collectMetrics = cached(async () => {
  const all = await Promise.all(
    liveWorkers().map(async (worker) => {
      const asked = ask<object[]>(worker, 'metrics', WAIT_MS.worker);
      return { worker, value: await asked.catch(() => undefined) };
    }),
  );
  const registry = AggregatorRegistry.aggregate(all.flatMap(({ value }) => (value ? [value] : [])));
  const answered = new Gauge({
    name: 'petstore_worker_answered',
    help: 'Whether the figures of a worker are in this scrape, by its process id.',
    labelNames: ['pid'],
    registers: [registry],
  });
  for (const { worker, value } of all) answered.set({ pid: worker.process.pid! }, value ? 1 : 0);
  return registry.metrics();
}, KEPT);

/** Provides `Metrics` to every module, for metrics of its own. */
@Global()
@Module({ providers: [Metrics], exports: [Metrics] })
export class MetricsModule {}
