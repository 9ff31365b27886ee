import { Injectable } from '@nestjs/common';
import { Metrics } from 'petstore/platform';
import { Backlogs, JobCounts } from '../../platform/jobs/index.js';
import { QUEUE } from '../queue.js';

/** Metrics of the delivery, which are those of its queue. */
@Injectable()
export class DeliveryMetrics {
  constructor(metrics: Metrics, backlogs: Backlogs, counts: JobCounts) {
    // Every process reports the same figures for the queue, as they share it.
    const one = { aggregator: 'max' } as const;
    const queued = async () => (await backlogs.of(QUEUE)).waiting;
    const oldest = async () => (await backlogs.of(QUEUE)).oldestSeconds;
    const help = 'Messages waiting to be delivered; more than 100,000 are estimated.';
    metrics.gauge('petstore_messages_queued', help, queued, one);
    metrics.gauge('petstore_messages_oldest_seconds', 'Age of the oldest waiting message.', oldest, one);
    const count = (result: 'done' | 'failed') => () => counts.of(QUEUE, result);
    metrics.counter('petstore_messages_delivered_total', 'Messages delivered.', count('done'));
    metrics.counter('petstore_messages_failed_total', 'Messages given up.', count('failed'));
  }
}
