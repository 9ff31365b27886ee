import { runCommand } from './command.js';
import { migrate } from '../database/migrate.js';
import { openDatabase } from '../database/open.js';
import { installJobs } from '../jobs/boss.js';

// Brings the schema up to date and ends: for operators who migrate before the service starts, with rights of their own.
await runCommand(async ({ config }) => {
  const names = await migrate(config, installJobs);
  console.log(names.length > 0 ? `Migrated: ${names.join(', ')}.` : 'The schema is up to date.');
}, openDatabase);
