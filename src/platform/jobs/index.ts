export { createBoss, installJobs, JobsDatabase } from './boss.js';
export { JobsModule, JobWorkersModule } from './job-workers.js';
export { HandlesJob, type Job, JobError, reasonIn, Scheduled } from './job.js';
export { Jobs } from './jobs.js';
