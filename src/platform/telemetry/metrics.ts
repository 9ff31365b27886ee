import cluster, { type Worker } from 'node:cluster';
import { Global, Injectable, Logger, Module } from '@nestjs/common';
import { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { cached, RELEASE, within } from '../process/index.js';

/** Upper bounds of buckets, in seconds: for reads from memory or the database, and for requests that wait. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** How long a scrape is cached. */
const KEPT = { ms: 1_000 };

/** Milliseconds to read a metric. A slower metric has no value, so that an unreachable database hides no other metric. */
const READ_MS = 500;

/** Milliseconds that the primary waits for its workers, any of which may be suspended or busy. */
const WAIT_MS = 1_000;

/** A question of the primary to a worker; with `figures`, the worker's answer. */
interface Message {
  about: 'metrics';
  figures?: object[];
}

/** A value, or a value for each set of labels. */
type Figures = number | { labels: Record<string, string>; value: number }[];
type Read = () => Figures | Promise<Figures>;

interface Options {
  /** The names of the labels, if the figures have any. */
  labels?: readonly string[];
  /** How the values of several workers are combined; `sum` by default. */
  aggregator?: 'max' | 'sum';
}

/** The metrics of the service, for Prometheus. A feature registers its own. */
@Injectable()
export class Metrics {
  private readonly registry = new Registry();
  private readonly logger = new Logger(Metrics.name);
  private readonly cachedText = cached(() => this.registry.metrics(), KEPT);

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    const build = { release: RELEASE, node: process.version };
    this.gauge(
      'petstore_build_info',
      'Always 1; labels give the running release and Node.js version',
      () => [{ labels: build, value: 1 }],
      { labels: Object.keys(build), aggregator: 'max' },
    );
    if (cluster.isWorker) process.on('message', (message: Message | null) => void this.answer(message));
  }

  /** The content type of `text`. */
  get contentType(): string {
    return this.registry.contentType;
  }

  /** A count since the start of the process. By convention its name ends in `_total`. */
  counter(name: string, help: string, read: Read, options: Options = {}): void {
    this.register(Counter, name, help, read, options);
  }

  /** A value that rises and falls. */
  gauge(name: string, help: string, read: Read, options: Options = {}): void {
    this.register(Gauge, name, help, read, options);
  }

  /** Durations, in seconds. An observation takes 0.4 µs. */
  histogram<Label extends string>(name: string, help: string, labelNames: Label[]): Histogram<Label> {
    return new Histogram({ name, help, labelNames, buckets: BUCKETS, registers: [this.registry] });
  }

  /**
   * The metrics in the text format of Prometheus. A metric that cannot be read has no value. All metrics are read at
   * most once a second, however often clients scrape.
   */
  text(): Promise<string> {
    return this.cachedText();
  }

  private register(
    Kind: typeof Counter | typeof Gauge,
    name: string,
    help: string,
    read: Read,
    { labels: labelNames = [], aggregator = 'sum' }: Options,
  ): void {
    const collect = async () => {
      try {
        const figures = await within(READ_MS, Promise.try(read));
        if (figures === undefined) throw new Error(`Reading takes more than ${READ_MS} ms.`);
        const values = typeof figures === 'number' ? [{ labels: {}, value: figures }] : figures;
        metric.reset();
        for (const { labels, value } of values) metric.inc(labels, value);
      } catch (error) {
        // If rethrown, the error would make the whole scrape fail.
        this.logger.debug(`${name} cannot be read: ${(error as Error).message}`);
        metric.reset();
        // For a metric without labels, `reset` only sets the value to 0.
        if (labelNames.length === 0) metric.remove();
      }
    };
    const metric = new Kind({ name, help, labelNames, aggregator, registers: [this.registry], collect });
  }

  /** Answers the primary of this worker. */
  private async answer(question: Message | null): Promise<void> {
    if (question?.about !== 'metrics') return;
    const figures = await this.registry.getMetricsAsJSON();
    if (process.connected) process.send!({ about: 'metrics', figures } satisfies Message);
  }
}

/**
 * The metrics of all workers, for the primary. `AggregatorRegistry.clusterMetrics` fails as a whole, after 5 s, if one
 * worker does not answer.
 */
@Injectable()
export class WorkerMetrics {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;

  /** As `Metrics.text`, for all workers; a worker that does not answer in time is left out. */
  readonly text = cached(async () => {
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected());
    const figures = await figuresOf(workers as Worker[]);
    const registry = AggregatorRegistry.aggregate([...figures.values()]);
    const answered = new Gauge({
      name: 'petstore_worker_answered',
      help: 'Whether this scrape has the figures of a worker, by the process id of the worker.',
      labelNames: ['pid'],
      registers: [registry],
    });
    for (const worker of workers) answered.set({ pid: worker!.process.pid! }, figures.has(worker!) ? 1 : 0);
    return registry.metrics();
  }, KEPT);
}

/** The figures of the workers that answer in time. A late answer to an earlier question counts too, with older figures. */
async function figuresOf(workers: Worker[]): Promise<Map<Worker, object[]>> {
  const figures = new Map<Worker, object[]>();
  const { promise: allAnswered, resolve } = Promise.withResolvers<void>();
  const receive = (worker: Worker, message: Message | null) => {
    if (message?.about !== 'metrics') return;
    figures.set(worker, message.figures!);
    if (figures.size === workers.length) resolve();
  };
  cluster.on('message', receive);
  for (const worker of workers) worker.send({ about: 'metrics' } satisfies Message);
  await within(WAIT_MS, allAnswered);
  cluster.off('message', receive);
  return figures;
}

/** Provides `Metrics` to every module, for metrics of its own. */
@Global()
@Module({ providers: [Metrics], exports: [Metrics] })
export class MetricsModule {}
