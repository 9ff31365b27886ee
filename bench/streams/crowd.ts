import { connect, type Socket } from 'node:net';
import { isMainThread, Worker, workerData } from 'node:worker_threads';

/** Simultaneous clients, each on its own connection. */
export interface Doing {
  port: number;
  /** Number of clients. */
  clients: number;
  /** Local addresses, used in turn: the service takes each for another client. */
  from: string[];
  /** The request without its body. */
  head: string;
  /** The size of the body, which is sent at once, or at `perSecond` bytes a second. */
  body?: { bytes: number; perSecond?: number };
  /** Whether a client repeats the request after each answer. */
  again?: boolean;
}

/** Indexes of the counters of a crowd. */
const COUNTS = ['bytes', 'answered', 'refused'] as const;
export type Counts = Record<(typeof COUNTS)[number], number>;

/** Clients in their own thread. */
export class Crowd {
  private readonly worker: Worker;
  private readonly shared: BigInt64Array;

  constructor(doing: Doing) {
    this.shared = new BigInt64Array(new SharedArrayBuffer(8 * COUNTS.length));
    this.worker = new Worker(new URL(import.meta.url), { workerData: { doing, shared: this.shared } });
  }

  /** The counts so far. */
  get counts(): Counts {
    return Object.fromEntries(
      COUNTS.map((name, i) => [name, Number(Atomics.load(this.shared, i))]),
    ) as Counts;
  }

  /** Closes all connections. */
  async stop(): Promise<void> {
    await this.worker.terminate();
  }
}

if (!isMainThread && workerData?.doing) run(workerData as { doing: Doing; shared: BigInt64Array });

/** Number of clients that connect at the same moment; the next group connects 10 ms later. */
const AT_ONCE = 20;

function run({ doing, shared }: { doing: Doing; shared: BigInt64Array }): void {
  const count = (name: keyof Counts, by = 1) => Atomics.add(shared, COUNTS.indexOf(name), BigInt(by));
  const sockets: Socket[] = [];
  const opening = setInterval(() => {
    for (let i = 0; i < AT_ONCE && sockets.length < doing.clients; i++)
      sockets.push(open(doing, sockets.length, count));
    if (sockets.length === doing.clients) clearInterval(opening);
  }, 10);
  const { bytes, perSecond } = doing.body ?? { bytes: 0 };
  if (!perSecond) return;
  const part = Buffer.alloc(Math.ceil(perSecond / 2), 'x');
  let left = bytes;
  setInterval(() => {
    const next = part.subarray(0, Math.max(0, (left -= part.length) + part.length));
    for (const socket of sockets) if (!socket.destroyed) socket.write(next);
  }, 500);
}

function open({ port, from, head, body, again }: Doing, i: number, count: Count): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from[i % from.length] }).setNoDelay();
  const whole = body && !body.perSecond ? Buffer.alloc(body.bytes, 'x') : '';
  const ask = () => {
    isHead = true;
    socket.write(head);
    if (whole) socket.write(whole);
  };
  let isHead = true;
  socket
    .on('error', () => {})
    .on('data', (chunk: Buffer) => {
      count('bytes', chunk.length);
      if (isHead) {
        const status = Number(chunk.toString('latin1', 9, 12));
        count(status < 300 ? 'answered' : 'refused');
        isHead = false;
        if (again) ask();
      }
    });
  ask();
  return socket;
}

type Count = (name: keyof Counts, by?: number) => void;
