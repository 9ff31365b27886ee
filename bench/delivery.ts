import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { Client } from 'pg';
import { Database } from './database.js';
import { startServer } from './servers.js';
import { cpuOf, cpuOfFamily } from './usage.js';

/**
 * What it takes to deliver messages: a backlog, delivered by one worker and by two, to receivers that answer at once and
 * after 100 ms.
 */
const { values } = parseArgs({
  options: {
    messages: { type: 'string', default: '10000' },
    workers: { type: 'string', default: '1,2' },
    delays: { type: 'string', default: '0,100' },
  },
});
const MESSAGES = Number(values.messages);
const POLL_MS = 100;

/** Answers 200 after `delay` milliseconds; in a thread, so that its work and that of this program do not mix. */
const RECEIVER = `
  const { createServer } = require('node:http');
  const { parentPort, workerData: { counts, delay } } = require('node:worker_threads');
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const now = Atomics.add(counts, 1, 1) + 1;
      if (now > counts[2]) counts[2] = now;
      const answer = () => { response.end(); Atomics.sub(counts, 1, 1); Atomics.add(counts, 0, 1); };
      delay > 0 ? setTimeout(answer, delay) : answer();
    });
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`;

const database = await Database.create();
try {
  await (await startServer('service', database.url)).stop();
  for (const delay of list(values.delays)) {
    for (const workers of list(values.workers)) await measure(workers, delay);
  }
} finally {
  await database.close();
}

async function measure(workers: number, delay: number): Promise<void> {
  await fill();
  // Received, under way, and the most that were under way at once.
  const counts = new Int32Array(new SharedArrayBuffer(12));
  const receiver = new Worker(RECEIVER, { eval: true, workerData: { counts, delay } });
  const port = await new Promise<number>((resolve) => receiver.once('message', resolve));
  const env = {
    ROLE: 'worker',
    MESSAGES_WEBHOOK_URL: `http://127.0.0.1:${port}/`,
    MESSAGES_WEBHOOK_SECRET: `whsec_${Buffer.alloc(24).toString('base64')}`,
  };
  const before = cpuOfFamily(database.postmaster);
  const running = await Promise.all(
    Array.from({ length: workers }, () => startServer('service', database.url, [], env)),
  );
  // The rate between the first and the last tenth: the start and the end are not what is measured.
  const from = await reached(counts, MESSAGES * 0.1);
  const cpu = () => running.reduce((sum, { process }) => sum + cpuOf(process.pid!), 0);
  const [begunCpu, begunDatabase] = [cpu(), cpuOfFamily(database.postmaster)];
  const to = await reached(counts, MESSAGES * 0.9);
  const count = to.count - from.count;
  const seconds = (to.at - from.at) / 1_000;
  const each = (us: number) => `${(us / count).toFixed(0)} µs`;
  const figures = [
    `${workers} worker(s), receiver ${delay} ms: ${(count / seconds).toFixed(0)} messages/s`,
    `most at once ${counts[2]}`,
    `CPU of a message: worker ${each(cpu() - begunCpu)}, PostgreSQL ${each(cpuOfFamily(database.postmaster) - begunDatabase)}`,
  ];
  console.log(figures.join('; '));
  await reached(counts, MESSAGES);
  await Promise.all(running.map((worker) => worker.stop()));
  console.log(
    `  in all: PostgreSQL ${((cpuOfFamily(database.postmaster) - before) / MESSAGES).toFixed(0)} µs a message`,
  );
  await receiver.terminate();
}

async function reached(counts: Int32Array, count: number): Promise<{ count: number; at: number }> {
  while (Atomics.load(counts, 0) < count) await sleep(POLL_MS / 10);
  return { count: Atomics.load(counts, 0), at: performance.now() };
}

/** Stores a backlog, as the service would have. */
async function fill(): Promise<void> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(`TRUNCATE messages, pgboss.job`);
  await client.query(
    `INSERT INTO accounts (email, password_hash) VALUES ('bench@example.com', 'x') ON CONFLICT DO NOTHING`,
  );
  await client.query(
    `WITH added AS (
       INSERT INTO messages (id, account_id, message, status)
       SELECT gen_random_uuid(), (SELECT min(id) FROM accounts), 'Hello, world!', 'queued' FROM generate_series(1, $1)
       RETURNING id)
     INSERT INTO pgboss.job (id, name, retry_limit, retry_delay, expire_seconds, heartbeat_seconds, keep_until)
     SELECT id, 'messages', 1000000, 1, 120, 20, now() + interval '1 day' FROM added`,
    [MESSAGES],
  );
  await client.end();
  await database.settle();
}

function list(text: string): number[] {
  return text.split(',').map(Number);
}
