import cluster, { type Worker } from 'node:cluster';
import { randomUUID } from 'node:crypto';

/** Handlers of questions, by subject. */
type Answers = Record<string, () => unknown>;

/** A message between the workers of a service and its primary (`WORKERS`). */
type Message =
  | { type: 'question'; id: string; about: string }
  | { type: 'answer'; id: string; value?: unknown; error?: string };

/** The other end: the primary, to a worker, or a worker. */
type Peer = NodeJS.Process | Worker;

/** In a worker: asks the primary, which answers by `answerWorkers`. @throws as `ask` does */
export function askPrimary<Value>(about: string, withinMs: number): Promise<Value> {
  return ask(process, about, withinMs);
}

/** Asks another process. @throws Error with the message of the peer's error, or if no answer arrives within `withinMs` */
export async function ask<Value>(peer: Peer, about: string, withinMs: number): Promise<Value> {
  const id = randomUUID();
  const { promise, resolve, reject } = Promise.withResolvers<Value>();
  const receive = (message: Message | null) => {
    if (message?.type !== 'answer' || message.id !== id) return;
    if (message.error === undefined) resolve(message.value as Value);
    else reject(new Error(message.error));
  };
  const timer = setTimeout(() => reject(new Error(`No answer about ${about} in time`)), withinMs);
  peer.on('message', receive);
  send(peer, { type: 'question', id, about });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    peer.off('message', receive);
  }
}

/** In a worker: answers questions of the primary. */
export function answerPrimary(answers: Answers): void {
  process.on('message', (message: Message | null) => void answer(process, message, answers));
}

/** In the primary: answers questions of workers. */
export function answerWorkers(answers: Answers): void {
  cluster.on('message', (worker, message: Message | null) => void answer(worker, message, answers));
}

/** In the primary: the workers that have not ended. */
export function liveWorkers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
}

async function answer(peer: Peer, message: Message | null, answers: Answers): Promise<void> {
  if (message?.type !== 'question') return;
  const { id, about } = message;
  const find = answers[about];
  if (!find) return;
  try {
    send(peer, { type: 'answer', id, value: await find() });
  } catch (error) {
    send(peer, { type: 'answer', id, error: (error as Error).message });
  }
}

function send(peer: Peer, message: Message): void {
  if ('isConnected' in peer) {
    if (peer.isConnected()) peer.send(message);
  } else peer.send!(message);
}
