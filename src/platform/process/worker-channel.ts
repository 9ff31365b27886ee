import cluster, { type Worker } from 'node:cluster';
import { randomUUID } from 'node:crypto';

/** Milliseconds for an answer, where nothing else is said: after that, no request waits for one. */
const ANSWER_MS = 3_000;

/** What one process finds for another that asks, by what it is asked about. */
type Answers = Record<string, (detail?: string) => unknown>;

/** What goes between the workers of a service and its primary (`WORKERS`). */
type Message =
  | { type: 'broadcast'; event: string }
  | { type: 'question'; id: string; about: string; detail?: string }
  | { type: 'answer'; id: string; value?: unknown; error?: string };

/** The other end: the primary, to a worker, or a worker. */
type Peer = NodeJS.Process | Worker;

/** In a worker: tells all others of an event. Does nothing where the service is one process. */
export function broadcast(event: string): void {
  if (cluster.isWorker) send(process, { type: 'broadcast', event });
}

/** In a worker: acts whenever another one tells of an event. */
export function onBroadcast(event: string, act: () => void): void {
  if (!cluster.isWorker) return;
  process.on('message', (message: Message) => {
    if (message.type === 'broadcast' && message.event === event) act();
  });
}

/** In the primary: hands the broadcasts of a worker on to the others. */
export function relayBroadcasts(): void {
  cluster.on('message', (from, message: Message | null) => {
    if (message?.type !== 'broadcast') return;
    for (const worker of presentWorkers()) if (worker !== from) send(worker, message);
  });
}

/** In a worker: asks the primary, which answers as `answerWorkers` says. @throws as `ask` does */
export function askPrimary<Value>(about: string, detail?: string, withinMs?: number): Promise<Value> {
  return ask(process, about, detail, withinMs);
}

/**
 * Asks another process.
 * @throws what its answer throws, with its message alone; Error if there is none in time
 */
export async function ask<Value>(
  peer: Peer,
  about: string,
  detail?: string,
  withinMs = ANSWER_MS,
): Promise<Value> {
  const id = randomUUID();
  const { promise, resolve, reject } = Promise.withResolvers<Value>();
  const hear = (message: Message | null) => {
    if (message?.type !== 'answer' || message.id !== id) return;
    if (message.error === undefined) resolve(message.value as Value);
    else reject(new Error(message.error));
  };
  const timer = setTimeout(() => reject(new Error(`No answer about ${about} in time`)), withinMs);
  peer.on('message', hear);
  send(peer, { type: 'question', id, about, detail });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    peer.off('message', hear);
  }
}

/** In a worker: answers what the primary asks. */
export function answerPrimary(answers: Answers): void {
  process.on('message', (message: Message | null) => void answer(process, message, answers));
}

/** In the primary: answers what workers ask. */
export function answerWorkers(answers: Answers): void {
  cluster.on('message', (worker, message: Message | null) => void answer(worker, message, answers));
}

/** In the primary: all workers that there are. */
export function presentWorkers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
}

async function answer(peer: Peer, message: Message | null, answers: Answers): Promise<void> {
  if (message?.type !== 'question') return;
  const { id, about, detail } = message;
  const find = answers[about];
  if (!find) return;
  try {
    send(peer, { type: 'answer', id, value: await find(detail) });
  } catch (error) {
    send(peer, { type: 'answer', id, error: (error as Error).message });
  }
}

function send(peer: Peer, message: Message): void {
  if ('isConnected' in peer) {
    if (peer.isConnected()) peer.send(message);
  } else peer.send!(message);
}
