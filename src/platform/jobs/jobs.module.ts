import { Global, Module } from '@nestjs/common';
import { MetricsModule } from '../telemetry/metrics.module.js';
import { JobEndings } from './job-endings.js';
import { JobMetrics } from './job-metrics.js';
import { JobQueues } from './job-queues.js';
import { Jobs } from './jobs.js';
import { JobWorkers } from './job-workers.js';

/** Gives every module durable work. */
@Global()
@Module({
  imports: [MetricsModule],
  providers: [Jobs, JobQueues, JobMetrics, JobEndings],
  exports: [Jobs, JobQueues, JobMetrics, JobEndings],
})
export class JobsModule {}

/** Does the work. Not a global module, as those end with the connections that it needs to the last. */
@Module({ providers: [JobWorkers] })
export class JobWorkersModule {}
