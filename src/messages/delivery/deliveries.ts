import { Logger } from '@nestjs/common';
import { DeliveryError, type OutgoingMessage, type Transport } from '../transport.js';
import type { DeliveryMetrics } from './delivery-metrics.js';
import type { DeliveryRecords, MessageJob } from './delivery-records.js';
import { ThrottledWarning } from '../../platform/telemetry/throttled-warning.js';
import { nextPause } from './schedule.js';

/** Maximum length of a stored reason, in characters. */
const REASON_LENGTH = 500;

/** Hands messages to the transport, and records the outcome of each as soon as it is known. */
export class Deliveries {
  private readonly logger = new Logger(Deliveries.name);
  private readonly troubles = new ThrottledWarning(
    this.logger,
    'Messages could not be delivered and will be tried again',
  );

  constructor(
    private readonly transport: Transport,
    private readonly records: DeliveryRecords,
    private readonly metrics: DeliveryMetrics,
    private readonly longestPauseSeconds: number,
  ) {}

  /**
   * Tries a batch of messages, all at once.
   * @throws what the database throws; those of the batch that were not recorded are then tried again
   */
  async run(jobs: MessageJob[]): Promise<void> {
    const messages = await this.records.findQueued(jobs.map(({ id }) => id));
    const tries = jobs.flatMap((job) => {
      const message = messages.get(job.id);
      // A worker that was cut off after recording the final status of the message has left only its job.
      return message ? [this.try(job, message)] : [];
    });
    const unrecorded = (await Promise.allSettled(tries)).find(({ status }) => status === 'rejected');
    if (unrecorded) throw (unrecorded as PromiseRejectedResult).reason;
  }

  private async try(job: MessageJob, message: OutgoingMessage): Promise<void> {
    try {
      await this.transport.deliver(message, job.signal);
    } catch (error) {
      return this.recordFailure(job, error as Error);
    }
    await this.records.delivered(job);
    this.metrics.delivered++;
  }

  private async recordFailure(job: MessageJob, error: Error): Promise<void> {
    const { isFinal, retryAfterSeconds } = error instanceof DeliveryError ? error : new DeliveryError('');
    const reason = error.message.replaceAll('\0', '').slice(0, REASON_LENGTH);
    const failingSince = new Date(job.data?.failingSince ?? Date.now());
    const pause = nextPause(
      { earlier: job.retryCount, failingSince, retryAfterSeconds },
      this.longestPauseSeconds,
    );
    if (pause !== undefined && !isFinal) {
      this.troubles.add(reason);
      return this.records.postponed(job, reason, failingSince, pause);
    }
    this.logger.warn(`Message ${job.id} has failed: ${reason}`);
    await this.records.failed(job, reason);
    this.metrics.failed++;
  }
}
