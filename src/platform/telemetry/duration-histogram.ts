import type { MetricValueWithName } from 'prom-client';

/** Upper bounds of the buckets, in seconds: for reads from memory, reads from the database, and requests that wait. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** The durations under one set of labels. */
export class Durations {
  /** How many were in each bucket, not cumulated; the last is for those above all bounds. */
  readonly counts = Array.from({ length: BOUNDS.length + 1 }, () => 0);
  sum = 0;

  constructor(readonly labels: Record<string, string>) {}

  add(seconds: number): void {
    let i = 0;
    while (i < BOUNDS.length && seconds > BOUNDS[i]!) i++;
    this.counts[i]!++;
    this.sum += seconds;
  }
}

/**
 * A Prometheus histogram. That of `prom-client` looks up its labels at each observation, even of a child (1 µs); here
 * the caller keeps the `Durations`, and an observation costs a few additions.
 */
export class DurationHistogram {
  private readonly series = new Map<string, Durations>();

  constructor(
    readonly name: string,
    readonly help: string,
  ) {}

  /** The durations under some labels; the order of the labels matters. */
  with(labels: Record<string, string>): Durations {
    const name = Object.values(labels).join();
    let durations = this.series.get(name);
    if (!durations) this.series.set(name, (durations = new Durations(labels)));
    return durations;
  }

  /** For `prom-client`. */
  async get(): Promise<object> {
    const values = [...this.series.values()].flatMap((one) => this.valuesOf(one));
    return { name: this.name, help: this.help, type: 'histogram', aggregator: 'sum', values };
  }

  private valuesOf({ counts, labels, sum }: Durations): MetricValueWithName<string>[] {
    let total = 0;
    const buckets = counts.map((count, i) => {
      const le = BOUNDS[i] ?? '+Inf';
      return { metricName: `${this.name}_bucket`, labels: { ...labels, le }, value: (total += count) };
    });
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: total },
    ];
  }
}
