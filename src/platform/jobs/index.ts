export { installJobs, JobsDatabase, QUEUE_OPTIONS } from './boss.js';
export { JobsModule, JobWorkersModule } from './job-workers.js';
export { HandlesJob, type Job, JobError, type Outcome, Scheduled } from './job.js';
export { Jobs } from './jobs.js';
