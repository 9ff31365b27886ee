export { installJobs, JobsDatabase } from './boss.js';
export { type JobStatus, type KeptJob, KeptJobs } from './job-table.js';
export { JobsModule, JobWorkersModule } from './job-workers.js';
export { HandlesJob, type Job, JobError, type Outcome, Scheduled } from './job.js';
export { Jobs } from './jobs.js';
