import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { FastRepository, InjectFastRepository, type Job, Sweeps, Transactions } from 'petstore/platform';
import { Config } from '../../config.js';
import { type Ending, JobQueues } from '../../platform/jobs/index.js';
import { Message, MessageStatus } from '../message.entity.js';
import { QUEUE } from '../queue.js';
import { Transport } from '../transport.js';

/** If two workers have tried the same message, since one was taken for dead, a success outweighs a failure. */
const RECORD = `
  UPDATE messages SET status = ending.status, failure = ending.failure
  FROM json_to_recordset($1::json) AS ending (id uuid, status text, failure text)
  WHERE messages.id = ending.id AND messages.status <> 'delivered'`;

const DAY_MS = 24 * 60 * 60 * 1000;
/** What a message is once nothing more becomes of it. */
const DONE = [MessageStatus.Delivered, MessageStatus.Failed];

/**
 * Delivers queued messages, if there is a transport, and records what becomes of them. Removes those that are done, so
 * many days after they were submitted.
 */
@Injectable()
export class MessageDelivery implements OnApplicationBootstrap {
  constructor(
    private readonly config: Config,
    @Inject(Transport) private readonly transport: Transport | null,
    @InjectFastRepository(Message) private readonly messages: FastRepository<Message>,
    private readonly transactions: Transactions,
    private readonly sweeps: Sweeps,
    queues: JobQueues,
  ) {
    queues.declare({
      name: QUEUE,
      concurrency: config.MESSAGES_CONCURRENCY,
      longestPauseSeconds: config.MESSAGES_RETRY_MAX_SECONDS,
      handle: transport ? (job) => this.deliver(job, transport) : undefined,
      record: (endings) => this.record(endings),
    });
  }

  onApplicationBootstrap(): void {
    const { ROLE, MESSAGES_RETENTION_DAYS: days } = this.config;
    // Without the days they are kept for ever.
    if (ROLE === 'api' || !this.transport || days === undefined) return;
    const first = () => firstIdOf(Date.now() - days * DAY_MS);
    this.sweeps.start(Message, () => ({ before: { id: first() }, where: { status: DONE } }));
  }

  /** True if it was this that delivered it: a message that was removed or is done has left only its job. */
  private async deliver({ id, signal }: Job, transport: Transport): Promise<boolean> {
    const message = await this.messages.findRow({ id, status: MessageStatus.Queued });
    if (!message) return false;
    await transport.deliver(message, signal);
    return true;
  }

  private async record(endings: readonly Ending[]): Promise<void> {
    const final = endings.flatMap(({ id, state, result, reason }) => {
      if (state === 'failed') return [{ id, status: MessageStatus.Failed, failure: reason }];
      return state === 'completed' && result ? [{ id, status: MessageStatus.Delivered }] : [];
    });
    if (final.length > 0) await this.transactions.manager.query(RECORD, [JSON.stringify(final)]);
  }
}

/** The lowest UUID v7 of a millisecond (RFC 9562, 5.7): in the order of the primary key, older ids come before it. */
function firstIdOf(time: number): string {
  // No message is from before 1970, whatever the days that messages are kept.
  const hex = Math.max(0, time).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
