import { Logger } from '@nestjs/common';
import { Command, type CommanderError } from 'commander';
import { QueryFailedError } from 'typeorm';
import { ApiError } from './common/api-error.js';
import { loadConfig, StartupError } from './config.js';
import { reachDatabase } from './database/embedded/reach.js';
import type { OpenDatabase } from './database/open.js';
import { isUnavailable } from './database/unavailable.js';

/** What a command ends with that was called wrongly; one that failed ends with 1. */
const USAGE_ERROR = 2;
/** SQLSTATE `undefined_table` and `undefined_column`. */
const NO_SUCH_SCHEMA = new Set(['42P01', '42703']);

/** A command line that npm starts under `name`. */
export function commandLine(name: string, description: string): Command {
  return new Command(`npm run ${name} --`)
    .description(description)
    .showHelpAfterError('Add --help for what there is.')
    .exitOverride(({ exitCode }: CommanderError) => process.exit(exitCode === 0 ? 0 : USAGE_ERROR));
}

/** Ends the process with 1; an error that is meant for the operator is told in one line. */
export function fail(error: unknown): never {
  console.error(error instanceof StartupError ? `petstore: ${error.message}` : error);
  process.exit(1);
}

/**
 * Runs a program that does one thing with the database and ends, with 1 where it has failed.
 * @param open gives the database; left out, one that the service has used
 */
export async function runCommand(
  work: (database: OpenDatabase) => Promise<void>,
  open = reachDatabase,
): Promise<void> {
  // The first process of a container gets no signal that it does not ask for, and an embedded database has to end too.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
  try {
    const config = loadConfig();
    Logger.overrideLogger(
      config.LOG_LEVEL === 'debug' ? ['fatal', 'error', 'warn', 'debug'] : ['fatal', 'error', 'warn'],
    );
    const database = await open(config);
    try {
      await work(database);
    } finally {
      await database.close();
    }
  } catch (error) {
    fail(explained(error));
  }
}

/** The error as an operator reads it; one that nobody has thought of stays as it is. */
function explained(error: unknown): unknown {
  if (error instanceof ApiError) return new StartupError(error.message);
  if (error instanceof QueryFailedError && NO_SUCH_SCHEMA.has(error.driverError.code)) {
    return new StartupError('The schema is not up to date. Run `npm run migration:run` first.');
  }
  if (error instanceof Error && isUnavailable(error)) {
    const reason = error.message || (error as { code?: string }).code;
    return new StartupError(`The database cannot be reached: ${reason}.`);
  }
  return error;
}
