import { once } from 'node:events';
import { createHistogram } from 'node:perf_hooks';
import autocannon from 'autocannon';
import { OPERATIONS, type OperationName, orders } from './operations.js';

/** The job of this process: one load on one server. */
export interface Job {
  url: string;
  key: string;
  operation: OperationName;
  connections: number;
  seconds: number;
  /** For orders: the ids of animals that have not been ordered. */
  pets?: { first: number; count: number };
}

/** Its result. */
export interface Load {
  requests: number;
  seconds: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  /** Requests without an answer, and unsuccessful answers, by status. */
  failures: Record<string, number>;
  /** CPU time of this process, in µs. */
  cpu: number;
}

process.on('message', (job: Job) => {
  void run(job).then((load) => process.send!(load));
});

async function run({ url, key, operation, connections, seconds, pets }: Job): Promise<Load> {
  // autocannon's own histogram counts in whole milliseconds.
  const latency = createHistogram();
  const failures: Record<string, number> = {};
  const note = (what: string) => (failures[what] = (failures[what] ?? 0) + 1);
  const request = pets ? [orders(pets.first)] : undefined;
  const { requests } = OPERATIONS[operation];
  const instance = autocannon(
    {
      url,
      connections,
      duration: seconds,
      sampleInt: 50,
      headers: { Authorization: `Bearer ${key}` },
      ...(request && { requests: request, maxOverallRequests: pets!.count - 2 * connections }),
      setupClient: (client) => !request && client.setRequests(requests()),
    },
    () => {},
  );
  instance.on('response', (_client, status, _bytes, milliseconds) => {
    latency.record(Math.max(1, Math.round(milliseconds * 1000)));
    if (status < 200 || status > 299) note(`status ${status}`);
  });
  instance.on('reqError', (error: Error) => note(error.message));
  // Before that, it builds every request that it is going to send.
  await once(instance, 'start');
  const cpu = process.cpuUsage();
  const begun = performance.now();
  await once(instance, 'done');
  const elapsed = (performance.now() - begun) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const percentile = (share: number) => latency.percentile(share) / 1000;
  return {
    requests: latency.count,
    seconds: elapsed,
    p50: percentile(50),
    p99: percentile(99),
    failures,
    cpu: user + system,
  };
}
