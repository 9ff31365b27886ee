import { Injectable } from '@nestjs/common';
import {
  FastRepository,
  InjectFastRepository,
  type Job,
  Jobs,
  Metrics,
  Scheduled,
  StartBlock,
} from 'petstore/platform';
import { Config } from '../config.js';
import { Message, MessageStatus, QUEUE } from './message.entity.js';
import { WebhookTransport } from './webhook-transport.js';

const DAY_MS = 24 * 60 * 60 * 1000;
/** An operator may queue a failed message again. */
const OPEN = [MessageStatus.Queued, MessageStatus.Failed];

/** Delivers queued messages if there is a transport, and deletes finished ones after their retention. */
@Injectable()
export class MessageDelivery {
  private readonly transport: WebhookTransport | null;

  constructor(
    private readonly config: Config,
    @InjectFastRepository(Message) private readonly messages: FastRepository<Message>,
    jobs: Jobs,
    metrics: Metrics,
    start: StartBlock,
  ) {
    const transport = (this.transport = transportOf(config));
    jobs.declare({
      name: QUEUE,
      concurrency: config.MESSAGES_CONCURRENCY,
      longestPauseSeconds: config.MESSAGES_RETRY_MAX_SECONDS,
      handle: transport ? (job) => this.deliver(job, transport) : undefined,
      record: (ids) => this.record(ids, MessageStatus.Delivered, null),
      recordFailure: (id, reason) => this.record([id], MessageStatus.Failed, reason),
    });
    registerMetrics(metrics, jobs);
    start.add('Messages', deliveryOf(config, transport));
  }

  @Scheduled('sweep-messages', '*/10 * * * *', { concurrency: 1 })
  async sweep(_payload: undefined, { signal }: Job): Promise<void> {
    const { MESSAGES_RETENTION_DAYS: days } = this.config;
    // Without a retention, messages are kept for ever.
    if (!this.transport || days === undefined) return;
    const sql = `id < $1 AND status IN ('delivered', 'failed')`;
    const old = { sql, parameters: [firstIdOf(Date.now() - days * DAY_MS)] };
    await this.messages.sweep(old, 'id', signal);
  }

  /** A job may outlive its message: the message was deleted, or another attempt has delivered it. */
  private async deliver({ id, signal }: Job, transport: WebhookTransport): Promise<void> {
    const message = await this.messages.findRow({ id });
    if (message && message.status !== MessageStatus.Delivered) await transport.deliver(message, signal);
  }

  /** Records a result. A worker taken for dead may still deliver, so a success overrides a failure. */
  private async record(ids: readonly string[], status: MessageStatus, failure: string | null): Promise<void> {
    await this.messages.updateRows({ id: [...ids], status: OPEN }, { status, failure });
  }
}

/** The transport, or null without one: messages then wait. */
function transportOf({ MESSAGES_WEBHOOK_URL: url, MESSAGES_WEBHOOK_SECRET: secrets }: Config) {
  return url && secrets ? new WebhookTransport(new URL(url), secrets.split(',')) : null;
}

function deliveryOf({ ROLE }: Config, transport: WebhookTransport | null): string {
  if (ROLE === 'api') return 'queued for processes with ROLE=worker';
  if (!transport) return 'queued until MESSAGES_WEBHOOK_URL is set';
  return `delivered to ${transport.destination}`;
}

function registerMetrics(metrics: Metrics, jobs: Jobs): void {
  // All processes report the same figures of the shared queue.
  const shared = { aggregator: 'max' } as const;
  const queued = async () => (await jobs.backlogOf(QUEUE)).waiting;
  const oldest = async () => (await jobs.backlogOf(QUEUE)).oldestSeconds;
  const help = 'Messages waiting to be delivered, counted every ten seconds.';
  metrics.gauge('petstore_messages_queued', help, queued, shared);
  metrics.gauge('petstore_messages_oldest_seconds', 'Age of the oldest waiting message.', oldest, shared);
  const count = (result: 'done' | 'failed') => () => jobs.triesOf(QUEUE, result);
  metrics.counter('petstore_messages_delivered_total', 'Messages delivered.', count('done'));
  metrics.counter('petstore_messages_failed_total', 'Messages given up.', count('failed'));
}

/** The lowest UUID v7 of a millisecond (RFC 9562, 5.7): older ids sort before it. */
function firstIdOf(time: number): string {
  // A long retention may reach back before 1970.
  const hex = Math.max(0, time).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
