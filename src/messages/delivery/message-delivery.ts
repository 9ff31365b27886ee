import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Config } from '../../config.js';
import { InjectFastRepository } from '../../platform/data/data.module.js';
import { FastRepository } from '../../platform/data/fast-repository.js';
import { Transactions } from '../../platform/data/transactions.js';
import type { Ending, Job } from '../../platform/jobs/job.js';
import { JobQueues } from '../../platform/jobs/job-queues.js';
import { Message, MessageStatus } from '../message.entity.js';
import { QUEUE } from '../queue.js';
import { Transport } from '../transport.js';
import { MessageRetention } from './message-retention.js';

/** If two workers have tried the same message, since one was taken for dead, a success outweighs a failure. */
const RECORD = `
  UPDATE messages SET status = ending.status, failure = ending.failure
  FROM json_to_recordset($1::json) AS ending (id uuid, status text, failure text)
  WHERE messages.id = ending.id AND messages.status <> 'delivered'`;

/** Delivers queued messages, if there is a transport, and records what becomes of them. */
@Injectable()
export class MessageDelivery implements OnApplicationBootstrap {
  constructor(
    private readonly config: Config,
    @Inject(Transport) private readonly transport: Transport | null,
    @InjectFastRepository(Message) private readonly messages: FastRepository<Message>,
    private readonly transactions: Transactions,
    private readonly retention: MessageRetention,
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
    if (this.config.ROLE !== 'api' && this.transport) this.retention.start();
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
