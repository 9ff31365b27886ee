import { loadFeatures } from '../load-features.js';
import { migrate, openDatabase } from '../platform/database/index.js';
import { installJobs } from '../platform/jobs/index.js';
import { runCommand } from './command.js';

// Brings the schema up to date and ends: for operators who migrate before the service starts, with rights of their own.
await runCommand(async ({ config }) => {
  await loadFeatures();
  const names = await migrate(config, installJobs);
  console.log(names.length > 0 ? `Migrated: ${names.join(', ')}.` : 'The schema is up to date.');
}, openDatabase);
