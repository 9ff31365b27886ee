import { Global, Module } from '@nestjs/common';
import { Backlogs } from './backlogs.js';
import { JobCounts } from './job-counts.js';
import { JobEndings } from './job-endings.js';
import { JobQueues } from './job-queues.js';
import { JobWorkers } from './job-workers.js';
import { Jobs } from './jobs.js';

/** Gives every module durable work. */
@Global()
@Module({
  providers: [Jobs, JobQueues, JobCounts, JobEndings, Backlogs],
  exports: [Jobs, JobQueues, JobCounts, JobEndings, Backlogs],
})
export class JobsModule {}

/** Does the work. Not a global module, as those end with the connections that it needs to the last. */
@Module({ providers: [JobWorkers] })
export class JobWorkersModule {}
