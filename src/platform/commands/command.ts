import { Logger } from '@nestjs/common';
import { Command, type CommanderError } from 'commander';
import { ApiError } from '../api/api-error.js';
import { loadConfig } from '../../config.js';
import { explain } from '../database/explain.js';
import { type OpenDatabase, reachDatabase } from '../database/open.js';
import { fail, OperatorError } from '../process/operator-error.js';

/** Exit status for wrong usage; a command that failed ends with 1. */
const USAGE_ERROR = 2;

/** A command line that is run as `npm run <name>`. */
export function commandLine(name: string, description: string): Command {
  return new Command(`npm run ${name} --`)
    .description(description)
    .showHelpAfterError('Run with --help for usage.')
    .exitOverride(({ exitCode }: CommanderError) => process.exit(exitCode === 0 ? 0 : USAGE_ERROR));
}

/**
 * Runs a program that does one thing with the database and ends, with status 1 if that fails.
 * @param open opens the database; by default one that the service has used
 */
export async function runCommand(
  work: (database: OpenDatabase) => Promise<void>,
  open = reachDatabase,
): Promise<void> {
  // PID 1 of a container ignores signals that it has no handler for; `exit` also stops an embedded database.
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
    fail(error instanceof ApiError ? new OperatorError(error.message) : explain(error));
  }
}
