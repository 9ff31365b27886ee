import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import {
  FastRepository,
  InjectFastRepository,
  type Job,
  Jobs,
  Metrics,
  type Outcome,
  StartBlock,
  Sweeps,
  Transactions,
} from 'petstore/platform';
import { Config } from '../config.js';
import { Message, MessageStatus, QUEUE } from './message.entity.js';
import { Transport } from './transport.js';

/** If two workers have tried the same message, since one was taken for dead, a success outweighs a failure. */
const RECORD = `
  UPDATE messages SET status = outcome.status, failure = outcome.failure
  FROM json_to_recordset($1::json) AS outcome (id uuid, status text, failure text)
  WHERE messages.id = outcome.id AND messages.status <> 'delivered'`;

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
    jobs: Jobs,
    metrics: Metrics,
    start: StartBlock,
  ) {
    jobs.declare({
      name: QUEUE,
      concurrency: config.MESSAGES_CONCURRENCY,
      longestPauseSeconds: config.MESSAGES_RETRY_MAX_SECONDS,
      handle: transport ? (job) => this.deliver(job, transport) : undefined,
      record: (outcomes) => this.record(outcomes),
    });
    tell(metrics, jobs);
    start.add('Messages', deliveryOf(config, transport));
  }

  onApplicationBootstrap(): void {
    const { ROLE, MESSAGES_RETENTION_DAYS: days } = this.config;
    // Without the days they are kept for ever.
    if (ROLE === 'api' || !this.transport || days === undefined) return;
    const first = () => firstIdOf(Date.now() - days * DAY_MS);
    this.sweeps.start(Message, () => ({ before: { id: first() }, where: { status: DONE } }));
  }

  /** Returns whether this try has delivered the message: of one that was removed or is done, only the job is left. */
  private async deliver({ id, signal }: Job, transport: Transport): Promise<boolean> {
    const message = await this.messages.findRow({ id, status: MessageStatus.Queued });
    if (!message) return false;
    await transport.deliver(message, signal);
    return true;
  }

  private async record(outcomes: readonly Outcome[]): Promise<void> {
    const known = outcomes.flatMap(({ id, result, failure }) => {
      if (failure !== undefined) return [{ id, status: MessageStatus.Failed, failure }];
      return result ? [{ id, status: MessageStatus.Delivered }] : [];
    });
    if (known.length > 0) await this.transactions.manager.query(RECORD, [JSON.stringify(known)]);
  }
}

/** What the start block says. */
function deliveryOf({ ROLE }: Config, transport: Transport | null): string {
  if (ROLE === 'api') return 'queued for processes with ROLE=worker';
  if (!transport) return 'queued until MESSAGES_WEBHOOK_URL is set';
  return `delivered to ${transport.destination}`;
}

/** The metrics of the delivery are those of its queue. */
function tell(metrics: Metrics, jobs: Jobs): void {
  // Every process reports the same figures for the queue, as they share it.
  const one = { aggregator: 'max' } as const;
  const queued = async () => (await jobs.backlogOf(QUEUE)).waiting;
  const oldest = async () => (await jobs.backlogOf(QUEUE)).oldestSeconds;
  const help = 'Messages waiting to be delivered; more than 100,000 are estimated.';
  metrics.gauge('petstore_messages_queued', help, queued, one);
  metrics.gauge('petstore_messages_oldest_seconds', 'Age of the oldest waiting message.', oldest, one);
  const count = (result: 'done' | 'failed') => () => jobs.triesOf(QUEUE, result);
  metrics.counter('petstore_messages_delivered_total', 'Messages delivered.', count('done'));
  metrics.counter('petstore_messages_failed_total', 'Messages given up.', count('failed'));
}

/** The lowest UUID v7 of a millisecond (RFC 9562, 5.7): in the order of the primary key, older ids come before it. */
function firstIdOf(time: number): string {
  // No message is from before 1970, whatever the days that messages are kept.
  const hex = Math.max(0, time).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
