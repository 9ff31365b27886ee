import { migrate, openDatabase } from '../platform/database/index.js';
import { installJobs } from '../platform/jobs/index.js';
import { type CommandEnvironment, CommandLine } from './command.js';

/** `petstore migrate`: for operators who migrate before the service starts, with a separate database role. */
export function migrateCommand(args: string[], environment: CommandEnvironment): Promise<number> {
  const line = new CommandLine('migrate', 'Brings the schema up to date.', environment);
  line.program.action(() =>
    line.onDatabase(async ({ config }) => {
      const { features } = await environment.parts();
      const names = await migrate(config, { migrations: features.migrations, install: installJobs });
      await line.print([names.length > 0 ? `Migrated: ${names.join(', ')}.` : 'The schema is up to date.']);
    }, openDatabase),
  );
  return line.run(args);
}
