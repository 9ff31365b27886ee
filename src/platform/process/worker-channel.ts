import cluster, { type Worker } from 'node:cluster';
import { randomUUID } from 'node:crypto';
import { on } from 'node:events';

/** Milliseconds for an answer of the primary, where nothing else is said: after that, no request waits for one. */
const ANSWER_MS = 3_000;

/** What one process finds for another that asks, by what it is asked about. */
type Answers = Record<string, (detail?: string) => unknown>;

/** What goes between the workers of a service and its primary (`WORKERS`). */
type Message =
  | { type: 'broadcast'; event: string }
  | { type: 'question'; id: string; about: string; detail?: string }
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
 * @throws what the primary's answer throws, with its message alone; if the signal is aborted, or
 * after a while where there is none
 */
export async function askPrimary<Value>(
  about: string,
  { detail, signal = AbortSignal.timeout(ANSWER_MS) }: { detail?: string; signal?: AbortSignal } = {},
): Promise<Value> {
  const id = randomUUID();
  const messages = on(process, 'message', { signal }) as AsyncIterable<[Message]>;
  tellPrimary({ type: 'question', id, about, detail });
  for await (const [message] of messages) {
    if (message.type !== 'answer' || message.id !== id) continue;
    if (message.error !== undefined) throw new Error(message.error);
    return message.value as Value;
  }
  throw new Error('The primary has gone.');
}

/** In a worker: answers what the primary asks. Each question is answered in one place. */
export function answerPrimary(answers: Answers): void {
  process.on('message', (message: Message | null) => void answer(message, answers, tellPrimary));
}

/** In the primary: answers what workers ask. Each question is answered in one place. */
export function answerWorkers(answers: Answers): void {
  cluster.on('message', (worker, message: Message | null) => {
    void answer(message, answers, (reply) => tell(worker, reply));
  });
}

/**
 * In the primary: asks all workers, which answer as `answerPrimary` says.
 * @param withinMs how long to wait for those that do not answer, such as one that is stopped, or has yet to start
 * @returns every worker that is there in the end, with its answer if there is one
 */
export async function askWorkers(
  about: string,
  withinMs: number,
): Promise<{ worker: Worker; value?: unknown }[]> {
  const id = randomUUID();
  const values = new Map<Worker, unknown>();
  const asked = present();
  const messages = on(cluster, 'message', { signal: AbortSignal.timeout(withinMs) });
  for (const worker of asked) tell(worker, { type: 'question', id, about });
  try {
    for await (const [worker, message] of messages as AsyncIterable<[Worker, Message | null]>) {
      if (message?.type !== 'answer' || message.id !== id) continue;
      values.set(worker, message.value);
      if (asked.every((one) => values.has(one) || one.isDead())) break;
    }
  } catch (error) {
    // Time is up; the primary's own emitter fails in no other way.
    if ((error as Error).name !== 'AbortError') throw error;
  }
  return present().map((worker) => ({ worker, value: values.get(worker) }));
}

/** In the primary: hands the broadcasts of a worker on to the others. */
export function relayBroadcasts(): void {
  cluster.on('message', (from, message: Message | null) => {
    if (message?.type !== 'broadcast') return;
    for (const worker of present()) if (worker !== from) tell(worker, message);
  });
}

function tellPrimary(message: Message): void {
  process.send!(message);
}

async function answer(
  message: Message | null,
  answers: Answers,
  reply: (message: Message) => void,
): Promise<void> {
  if (message?.type !== 'question') return;
  const { id, about, detail } = message;
  const find = answers[about];
  if (!find) return;
  try {
    reply({ type: 'answer', id, value: await find(detail) });
  } catch (error) {
    reply({ type: 'answer', id, error: (error as Error).message });
  }
}

/** All workers that there are. */
function present(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
}

function tell(worker: Worker, message: Message): void {
  if (worker.isConnected()) worker.send(message);
}
