import { connect } from 'node:net';
import { createHistogram } from 'node:perf_hooks';
import type { Supply } from './database.js';
import { connectionOf, type Operation, OPERATIONS, type OperationName, type Request } from './operations.js';

/** The task of this process: one load on one server. */
export interface Job {
  url: string;
  bearer: string;
  operation: OperationName;
  connections: number;
  seconds: number;
  /** Rows that the requests use up: the load ends with them. */
  supply?: Supply;
}

/** The result of a load. */
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

process.on('message', (job: Job) => void run(job).then((load) => process.send!(load)));

async function run({ url, bearer, operation, connections, seconds, supply }: Job): Promise<Load> {
  const { request }: Operation = OPERATIONS[operation];
  const latency = createHistogram();
  const failures: Record<string, number> = {};
  const note = (what: string) => (failures[what] = (failures[what] ?? 0) + 1);
  const { host, port } = new URL(url);
  const head = `HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${bearer}\r\n`;
  let isOver = false;
  let sent = 0;
  const cpu = process.cpuUsage();
  const begun = performance.now();
  setTimeout(() => (isOver = true), seconds * 1_000);
  const clients = Array.from({ length: connections }, (_none, n) =>
    client(Number(port), note, (status, ms) => {
      if (status) {
        latency.record(Math.max(1, Math.round(ms * 1_000)));
        if (status > 299) note(`status ${status}`);
      }
      if (isOver || sent === supply?.count) return undefined;
      return toText(request({ i: sent++, connection: connectionOf(url, n), supply }), head);
    }),
  );
  await Promise.all(clients);
  const elapsed = (performance.now() - begun) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  const percentile = (share: number) => latency.percentile(share) / 1_000;
  return {
    requests: latency.count,
    seconds: elapsed,
    p50: percentile(50),
    p99: percentile(99),
    failures,
    cpu: user + system,
  };
}

function toText({ method, path, headers = {}, body = '' }: Request, head: string): string {
  const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = body ? `Content-Length: ${body.length}\r\n` : '';
  return `${method} ${path} ${head}${own.join('')}${length}\r\n${body}`;
}

/**
 * A connection that sends each request as soon as it has the answer to the previous one.
 * @param next gets an answer's status and milliseconds (at first 0, 0); returns a request, or undefined
 */
function client(
  port: number,
  note: (failure: string) => void,
  next: (status: number, ms: number) => string | undefined,
): Promise<void> {
  const socket = connect(port, '127.0.0.1').setNoDelay().setEncoding('latin1');
  let received = '';
  let sentAt = 0;
  let isDone = false;
  const send = (request: string | undefined) => {
    isDone = request === undefined;
    sentAt = performance.now();
    if (request === undefined) socket.end();
    else socket.write(request);
  };
  socket.on('data', (chunk) => {
    received += String(chunk);
    const end = received.indexOf('\r\n\r\n');
    if (end < 0) return;
    const [, length] = /\ncontent-length: (\d+)/i.exec(received) ?? [];
    // All servers send a Content-Length.
    if (length === undefined) socket.destroy(new Error('no Content-Length'));
    if (received.length < end + 4 + Number(length)) return;
    const status = Number(received.slice(9, 12));
    received = '';
    send(next(status, performance.now() - sentAt));
  });
  send(next(0, 0));
  return new Promise((resolve) => {
    socket.on('error', ({ message }) => note(message));
    socket.on('close', (hadError) => {
      if (!isDone && !hadError) note('closed');
      resolve();
    });
  });
}
