import { once } from 'node:events';
import { createHistogram } from 'node:perf_hooks';
import autocannon from 'autocannon';
import { connectionTo, type Operation, OPERATIONS, type OperationName, type Supplies } from './operations.js';

/** The job of this process: one load on one server. */
export interface Job {
  url: string;
  key: string;
  operation: OperationName;
  connections: number;
  seconds: number;
  /** What the requests use up, if they do. */
  supply?: Supplies[keyof Supplies];
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

async function run({ url, key, operation, connections, seconds, supply }: Job): Promise<Load> {
  // autocannon's own histogram counts in whole milliseconds.
  const latency = createHistogram();
  const failures: Record<string, number> = {};
  const note = (what: string) => (failures[what] = (failures[what] ?? 0) + 1);
  const load: Operation = OPERATIONS[operation];
  let clients = 0;
  const instance = autocannon(
    {
      url,
      connections,
      duration: seconds,
      sampleInt: 50,
      headers: { Authorization: `Bearer ${key}` },
      ...('uses' in load && {
        requests: [load.request(supply as never)],
        maxOverallRequests: supply!.count - 2 * connections,
      }),
      setupClient: (client) =>
        'requests' in load && client.setRequests(load.requests(connectionTo(url, clients++))),
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
