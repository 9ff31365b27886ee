import cluster, { type Worker } from 'node:cluster';
import { randomUUID } from 'node:crypto';
import { on } from 'node:events';

/** What goes between the workers of a service and its primary (`WORKERS`). */
type Message =
  | { type: 'broadcast'; event: string }
  | { type: 'question'; id: string; about: string }
  | { type: 'answer'; id: string; value?: unknown; error?: string };

/** In a worker: tells all others of an event. Does nothing where the service is one process. */
export function broadcast(event: string): void {
  if (cluster.isWorker) tellPrimary({ type: 'broadcast', event });
}

/** In a worker: acts whenever another one tells of an event. */
export function onBroadcast(event: string, act: () => void): void {
  if (!cluster.isWorker) return;
  process.on('message', (message: Message) => {
    if (message.type === 'broadcast' && message.event === event) act();
  });
}

/**
 * In a worker: asks the primary, which answers as `answerWorkers` says.
 * @throws what the primary's answer throws, with its message alone
 */
export async function askPrimary<Value>(about: string): Promise<Value> {
  const id = randomUUID();
  const messages = on(process, 'message') as AsyncIterable<[Message]>;
  tellPrimary({ type: 'question', id, about });
  for await (const [message] of messages) {
    if (message.type !== 'answer' || message.id !== id) continue;
    if (message.error !== undefined) throw new Error(message.error);
    return message.value as Value;
  }
  throw new Error('The primary has gone.');
}

/** In the primary: answers what workers ask. Each question is answered in one place. */
export function answerWorkers(answers: Record<string, () => Promise<unknown>>): void {
  cluster.on('message', (worker, message: Message | null) => {
    if (message?.type !== 'question') return;
    const find = answers[message.about];
    if (find) void answer(worker, message.id, find);
  });
}

/** In the primary: hands the broadcasts of a worker on to the others. */
export function relayBroadcasts(): void {
  cluster.on('message', (worker, message: Message | null) => {
    if (message?.type === 'broadcast') relay(worker, message);
  });
}

function tellPrimary(message: Message): void {
  process.send!(message);
}

function relay(from: Worker, message: Message): void {
  for (const worker of Object.values(cluster.workers ?? {})) if (worker !== from) tell(worker, message);
}

async function answer(worker: Worker, id: string, find: () => Promise<unknown>): Promise<void> {
  try {
    tell(worker, { type: 'answer', id, value: await find() });
  } catch (error) {
    tell(worker, { type: 'answer', id, error: (error as Error).message });
  }
}

function tell(worker: Worker | undefined, message: Message): void {
  if (worker?.isConnected()) worker.send(message);
}
