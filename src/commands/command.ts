import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { Logger } from '@nestjs/common';
import { Command, CommanderError } from 'commander';
import type { Config } from '../config.js';
import { ApiError } from '../platform/api/index.js';
import { explain, type OpenDatabase, reachDatabase } from '../platform/database/index.js';
import { type Lifecycle, OperatorError } from '../platform/process/index.js';

/** Exit status of a command that failed or was interrupted. */
const FAILURE = 1;
/** Exit status for wrong usage. */
const USAGE_ERROR = 2;

/** What a command has of the process that runs it; a test runs many commands in one process. */
export interface Surroundings {
  /** @throws OperatorError if the configuration is wrong */
  config: () => Promise<Config>;
  /** Loads the features of the service. @throws OperatorError if they do not fit together */
  parts: () => Promise<unknown>;
  life: Pick<Lifecycle, 'start' | 'isStopping'>;
  streams: { stdin: Readable & { isTTY?: boolean }; stdout: Writable; stderr: Writable };
}

/** A command line that is run as `npm run <name>`. */
export class CommandLine {
  readonly program: Command;

  constructor(
    name: string,
    description: string,
    readonly surroundings: Surroundings,
  ) {
    const { stdout, stderr } = surroundings.streams;
    this.program = new Command(`npm run ${name} --`)
      .description(description)
      .allowExcessArguments(false)
      .showHelpAfterError('Run with --help for usage.')
      .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
      .exitOverride();
  }

  /** Runs a command to its end. If it fails, one line says why. @returns the exit status */
  async run(args: string[]): Promise<number> {
    try {
      await this.program.parseAsync(args, { from: 'user' });
      return 0;
    } catch (error) {
      if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_ERROR;
      // Its database was taken from it by the stop, which also ends the process.
      if (!this.surroundings.life.isStopping) this.surroundings.streams.stderr.write(`${textOf(error)}\n`);
      return FAILURE;
    }
  }

  /**
   * Opens the database for some work, and closes it. A signal ends the process after it has closed.
   * @param open by default opens one that the service has used
   */
  async onDatabase(
    work: (database: OpenDatabase) => Promise<void>,
    open: typeof reachDatabase = reachDatabase,
  ): Promise<void> {
    const config = await this.surroundings.config();
    const levels = ['fatal', 'error', 'warn'] as const;
    Logger.overrideLogger(config.LOG_LEVEL === 'debug' ? [...levels, 'debug'] : [...levels]);
    const { database, stop } = await this.surroundings.life.start(async (stopping) => {
      const opened = await open(config, stopping);
      return { database: opened, stop: () => opened.close() };
    });
    try {
      await work(database);
    } finally {
      await stop();
    }
  }

  /** Writes lines to standard output, no faster than they are read: a long list is never in memory as a whole. */
  async print(lines: Iterable<string> | AsyncIterable<string>): Promise<void> {
    const { stdout } = this.surroundings.streams;
    for await (const line of lines) if (!stdout.write(`${line}\n`)) await once(stdout, 'drain');
  }
}

/** An error as the operator sees it: what to mend in one line, and of a bug its stack. */
function textOf(error: unknown): string {
  const told = error instanceof ApiError ? new OperatorError(error.message) : explain(error);
  if (told instanceof OperatorError) return `petstore: ${told.message}`;
  return String(told instanceof Error ? told.stack : told);
}
