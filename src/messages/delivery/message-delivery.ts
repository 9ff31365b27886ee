import { setTimeout as sleep } from 'node:timers/promises';
import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import type { PgBoss } from 'pg-boss';
import { Config } from '../../config.js';
import { Transport } from '../transport.js';
import { Deliveries } from './deliveries.js';
import { DeliveryMetrics } from './delivery-metrics.js';
import { DeliveryRecords, type MessageJob } from './delivery-records.js';
import { JobsDatabase } from './jobs-database.js';
import { MessageRetention } from './message-retention.js';
import { createBoss, QUEUE } from './queue.js';
import { ThrottledWarning } from '../../platform/telemetry/throttled-warning.js';

/** Small batches, so that a slow receiver holds up few others; 40 messages at once in all. */
const WORK = {
  localConcurrency: 8,
  batchSize: 5,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
  includeMetadata: true,
} as const;
const START_RETRY_MS = 1_000;
/** Milliseconds allowed at a stop for handing unfinished messages back. */
const HAND_BACK_MS = 2_000;

/** Delivers queued messages while the service runs, if there is a transport. */
@Injectable()
export class MessageDelivery implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  private readonly logger = new Logger(MessageDelivery.name);
  private readonly failures = new ThrottledWarning(this.logger, 'The message queue met an error and goes on');
  private database?: JobsDatabase;
  private boss?: PgBoss;
  private stopped?: Promise<void>;

  constructor(
    private readonly config: Config,
    @Inject(Transport) private readonly transport: Transport | null,
    private readonly metrics: DeliveryMetrics,
    private readonly retention: MessageRetention,
  ) {}

  /** Not awaited: requests need neither the workers nor a reachable queue. */
  onApplicationBootstrap(): void {
    if (this.config.ROLE === 'api' || !this.transport) return;
    this.retention.start();
    void this.start(this.transport);
  }

  /** Takes no more messages; those under way continue while the HTTP server finishes its requests. */
  onModuleDestroy(): void {
    this.stopped = this.stop();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.stopped;
  }

  private async start(transport: Transport): Promise<void> {
    const database = (this.database = new JobsDatabase(this.config));
    const boss = (this.boss = createBoss(database));
    boss.on('error', (error) => this.failures.add(error.message));
    boss.on('warning', ({ message }) => this.logger.warn(message));
    const records = new DeliveryRecords(boss, database);
    const deliveries = new Deliveries(
      transport,
      records,
      this.metrics,
      this.config.MESSAGES_RETRY_MAX_SECONDS,
    );
    while (!this.stopped && !(await this.begin(boss))) await sleep(START_RETRY_MS);
    if (!this.stopped) await boss.work(QUEUE, WORK, (jobs: MessageJob[]) => deliveries.run(jobs));
  }

  /** Starts pg-boss; false if it failed. */
  private async begin(boss: PgBoss): Promise<boolean> {
    try {
      await boss.start();
      return true;
    } catch (error) {
      this.failures.add((error as Error).message);
      return false;
    }
  }

  private async stop(): Promise<void> {
    const { boss, database } = this;
    if (!boss || !database) return;
    await Promise.race([
      boss.offWork(QUEUE),
      sleep(this.config.SHUTDOWN_GRACE_MS, undefined, { ref: false }),
    ]);
    // What is still under way is returned to the queue, for another worker to take at once.
    const handBack = boss.stop({ graceful: false }).then(() => database.close());
    await Promise.race([handBack.catch(() => {}), sleep(HAND_BACK_MS, undefined, { ref: false })]);
  }
}
