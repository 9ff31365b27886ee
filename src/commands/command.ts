import { Logger } from '@nestjs/common';
import { Command, type CommanderError } from 'commander';
import { loadConfig } from '../load-config.js';
import { ApiError } from '../platform/api/index.js';
import { explain, type OpenDatabase, reachDatabase } from '../platform/database/index.js';
import { fail, Lifecycle, OperatorError } from '../platform/process/index.js';

/** Exit status of a command that failed or was interrupted. */
const FAILURE = 1;
/** Exit status for wrong usage. */
const USAGE_ERROR = 2;

/** A command line that is run as `npm run <name>`. */
export function commandLine(name: string, description: string): Command {
  return new Command(`npm run ${name} --`)
    .description(description)
    .showHelpAfterError('Run with --help for usage.')
    .exitOverride(({ exitCode }: CommanderError) => process.exit(exitCode === 0 ? 0 : USAGE_ERROR));
}

/**
 * Runs a program that does one thing with the database and ends, with status 1 if that fails. A signal ends it too, after
 * what was started for it has stopped.
 * @param open opens the database; by default one that the service has used
 */
export async function runCommand(
  work: (database: OpenDatabase) => Promise<void>,
  open = reachDatabase,
): Promise<void> {
  const life = new Lifecycle(FAILURE);
  try {
    const config = await loadConfig();
    Logger.overrideLogger(
      config.LOG_LEVEL === 'debug' ? ['fatal', 'error', 'warn', 'debug'] : ['fatal', 'error', 'warn'],
    );
    const { database, stop } = await life.start(async (stopping) => {
      const opened = await open(config, stopping);
      return { database: opened, stop: () => opened.close() };
    });
    try {
      await work(database);
    } finally {
      await stop();
    }
  } catch (error) {
    // Its database was taken from it: the stop ends the process.
    if (life.isStopping) return;
    fail(error instanceof ApiError ? new OperatorError(error.message) : explain(error));
  }
}
