import cluster from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import { Global, Injectable, Logger, Module } from '@nestjs/common';
import { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { answerPrimary, ask, askPrimary, presentWorkers, RELEASE } from '../process/index.js';

/** Upper bounds, in seconds: for reads from memory, reads from the database, and requests that wait. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Milliseconds for which an answer is good for all who ask. */
const KEPT_MS = 1_000;

/** Milliseconds after which a metric has no value: a database that is away must not keep a scrape from the others. */
const READ_MS = 500;

/**
 * Milliseconds to wait for a worker, which may be stopped, or busy; and in a worker for the primary, which waits for the
 * others. Prometheus waits 10 s, and a request has its answer within 3.
 */
const WAIT_MS = { worker: 1_000, primary: 2_000 };

/** A value, or one for each set of labels. */
type Figures = number | { labels: Record<string, string>; value: number }[];
type Read = () => Figures | Promise<Figures>;

interface Options {
  /** How the values of several workers are combined; `sum` by default. */
  aggregator?: 'max';
}

/** A metric whose figures are read on each scrape. */
interface Declared extends Options {
  type: 'counter' | 'gauge';
  name: string;
  help: string;
  read: Read;
}

/** The metrics of the service, for Prometheus. A feature adds its own, which are read on each scrape. */
@Injectable()
export class Metrics {
  /** What is counted as it happens: histograms, and what prom-client knows of the process. */
  private readonly registry = new Registry();
  private readonly declared = new Map<string, Declared>();
  private readonly logger = new Logger(Metrics.name);
  private readonly kept = onceASecond(async () => (await this.current()).metrics());

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    const build = [{ labels: { release: RELEASE, node: process.version }, value: 1 }];
    this.gauge('petstore_build_info', 'Always 1; the release that runs, and its Node', () => build, {
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
    this.add('counter', name, help, read, options);
  }

  /** A value that rises and falls. */
  gauge(name: string, help: string, read: Read, options: Options = {}): void {
    this.add('gauge', name, help, read, options);
  }

  /** Durations, in seconds. An observation takes 0.4 µs. */
  histogram<Label extends string>(name: string, help: string, labelNames: Label[]): Histogram<Label> {
    return new Histogram({ name, help, labelNames, buckets: BUCKETS, registers: [this.registry] });
  }

  /**
   * All metrics, of all workers, in the text format of Prometheus. One that cannot be read has no value, and does not
   * hide the others. They are read at most once a second, for all who ask meanwhile: anybody may ask, as often as he likes.
   * @throws Error in a worker, if the primary does not answer
   */
  text(): Promise<string> {
    // Any worker may answer a scrape, and all are one target to Prometheus; the primary keeps the answer.
    if (cluster.isWorker) return askPrimary<string>('metrics', undefined, WAIT_MS.primary);
    return this.kept();
  }

  private add(type: Declared['type'], name: string, help: string, read: Read, options: Options): void {
    if (this.declared.has(name) || this.registry.getSingleMetric(name))
      throw new Error(`There is a metric ${name} already.`);
    this.declared.set(name, { type, name, help, read, ...options });
  }

  /** All metrics with the figures of this moment. */
  private async current(): Promise<Registry> {
    const figures = new Registry();
    await Promise.all(Array.from(this.declared.values(), (one) => this.addTo(figures, one)));
    return Registry.merge([this.registry, figures]);
  }

  private async addTo(registry: Registry, one: Declared): Promise<void> {
    const { type, name, help, aggregator = 'sum' as const, read } = one;
    try {
      const figures = read();
      const values = valuesOf(figures instanceof Promise ? await Promise.race([figures, late()]) : figures);
      const labelNames = [...new Set(values.flatMap(({ labels }) => Object.keys(labels)))];
      const config = { name, help, aggregator, labelNames, registers: [registry] };
      const metric = type === 'gauge' ? new Gauge(config) : new Counter(config);
      // Without labels it has begun at 0.
      if (values.length === 0) metric.remove();
      for (const { labels, value } of values) metric.inc(labels, value);
    } catch (error) {
      this.logger.debug(`${name} cannot be read: ${(error as Error).message}`);
    }
  }
}

const valuesOf = (figures: Figures) =>
  typeof figures === 'number' ? [{ labels: {}, value: figures }] : figures;

async function late(): Promise<never> {
  await sleep(READ_MS, undefined, { ref: false });
  throw new Error(`It has taken more than ${READ_MS} ms.`);
}

/** Has something read at most once a second, for all who ask meanwhile. */
function onceASecond(read: () => Promise<string>): () => Promise<string> {
  let answer: Promise<string> | undefined;
  const forget = () => void (answer = undefined);
  return () => {
    if (answer) return answer;
    answer = read();
    // A failure is not kept.
    answer.then(() => setTimeout(forget, KEPT_MS).unref(), forget);
    return answer;
  };
}

/** In the primary: returns a function that collects the metrics of all workers that answer, and adds them up. */
export function collectMetrics(): () => Promise<string> {
  return onceASecond(collect);
}

async function collect(): Promise<string> {
  const all = await Promise.all(
    presentWorkers().map(async (worker) => {
      const asked = ask<object[]>(worker, 'metrics', undefined, WAIT_MS.worker);
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
}

/** Provides `Metrics` to every module, for metrics of its own. */
@Global()
@Module({ providers: [Metrics], exports: [Metrics] })
export class MetricsModule {}
