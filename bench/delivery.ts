import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { Database } from './database.js';
import { createKey, post, startServer, stopAll } from './servers.js';
import { provenance, toTable, whole } from './table.js';
import { cpuOf, cpuOfFamily } from './usage.js';

/** Measures the delivery of a backlog by one worker and by two, and the time until the first try of a lone message. */
const { values } = parseArgs({
  options: {
    messages: { type: 'string', default: '10000' },
    workers: { type: 'string', default: '1,2' },
    delays: { type: 'string', default: '0,100' },
  },
});
const MESSAGES = Number(values.messages);
/** Messages submitted at a time. */
const TOGETHER = 10;
/** Lone messages: each is submitted after the delivery of the previous one. */
const ALONE = 60;
const HEAD = [
  ...['Receiver answers', 'Workers', 'Messages a second', 'Under way at once'],
  ...['Worker CPU µs', 'PostgreSQL CPU µs'],
];

/** Answers 200 after `delay` milliseconds, in a thread of its own. */
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
  const service = await startServer('service', database.url, { ROLE: 'api' });
  const headers = { Authorization: `Bearer ${await createKey(service)}` };
  const send = () => post(`${service.url}/v1/messages`, { message: 'Hello, world!' }, headers);
  const rows: string[][] = [];
  for (const delay of values.delays.split(',').map(Number))
    for (const workers of values.workers.split(',').map(Number)) {
      await submit(send);
      rows.push(await deliver(workers, delay));
    }
  console.log(`\n${provenance(database.version)}: ${whole(MESSAGES)} messages\n\n${toTable(HEAD, rows)}`);
  const waits = (await waitsOf(send)).map(whole);
  console.log(
    `\nFirst tries of ${ALONE} messages, one by one: ${waits[ALONE / 2]} ms, ${waits.at(-1)} at most`,
  );
} finally {
  await stopAll();
  await Database.closeAll();
}

/** Submits the messages of the backlog. */
async function submit(send: () => Promise<unknown>): Promise<void> {
  for (let i = 0; i < MESSAGES; i += TOGETHER)
    await Promise.all(Array.from({ length: Math.min(TOGETHER, MESSAGES - i) }, send));
  await database.settle();
}

async function deliver(workers: number, delay: number): Promise<string[]> {
  const { counts, running, stop } = await startDelivery(workers, delay);
  const cpu = () => running.reduce((sum, { pid }) => sum + cpuOf(pid), 0);
  // Leaves out the first and the last tenth, in which the delivery starts and ends.
  const from = await reached(counts, MESSAGES * 0.1);
  const [cpuBefore, databaseBefore] = [cpu(), cpuOfFamily(database.postmaster)];
  const to = await reached(counts, MESSAGES * 0.9);
  const count = to.count - from.count;
  const each = [cpu() - cpuBefore, cpuOfFamily(database.postmaster) - databaseBefore].map((us) => us / count);
  await reached(counts, MESSAGES);
  await stop();
  const rate = count / ((to.at - from.at) / 1_000);
  return [delay ? `after ${delay} ms` : 'at once', ...[workers, rate, counts[2]!, ...each].map(whole)];
}

/** Sorted milliseconds from a submission's answer to the first try, without the first message's. */
async function waitsOf(send: () => Promise<unknown>): Promise<number[]> {
  const { counts, stop } = await startDelivery(1, 0);
  const waits: number[] = [];
  for (let i = 0; i <= ALONE; i++) {
    await send();
    const from = performance.now();
    waits.push((await reached(counts, i + 1)).at - from);
  }
  await stop();
  return waits.slice(1).toSorted((a, b) => a - b);
}

/** Starts a receiver, and workers that deliver to it. */
async function startDelivery(workers: number, delay: number) {
  // Three counters: received, under way, and the maximum under way at once.
  const counts = new Int32Array(new SharedArrayBuffer(12));
  const receiver = new Worker(RECEIVER, { eval: true, workerData: { counts, delay } });
  const port = await new Promise<number>((resolve) => receiver.once('message', resolve));
  const env = {
    ROLE: 'worker',
    MESSAGES_WEBHOOK_URL: `http://127.0.0.1:${port}/`,
    MESSAGES_WEBHOOK_SECRET: `whsec_${Buffer.alloc(24).toString('base64')}`,
  };
  const start = () => startServer('service', database.url, env);
  const running = await Promise.all(Array.from({ length: workers }, start));
  const stop = () => Promise.all([...running.map((worker) => worker.stop()), receiver.terminate()]);
  return { counts, running, stop };
}

async function reached(counts: Int32Array, count: number): Promise<{ count: number; at: number }> {
  while (Atomics.load(counts, 0) < count) await sleep(10);
  return { count: Atomics.load(counts, 0), at: performance.now() };
}
