import { migrate, openDatabase } from '../platform/database/index.js';
import { installJobs } from '../platform/jobs/index.js';
import { CommandLine, type Surroundings } from './command.js';

/** Brings the schema up to date: for operators who migrate before the service starts, with rights of their own. */
export function migrateCommand(args: string[], surroundings: Surroundings): Promise<number> {
  const line = new CommandLine('migration:run', 'Brings the schema up to date.', surroundings);
  line.program.action(() =>
    line.onDatabase(async ({ config }) => {
      await surroundings.parts();
      const names = await migrate(config, installJobs);
      await line.print([names.length > 0 ? `Migrated: ${names.join(', ')}.` : 'The schema is up to date.']);
    }, openDatabase),
  );
  return line.run(args);
}
