import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { Logger } from '@nestjs/common';
import { Command, CommanderError } from 'commander';
import type { Config } from '../config.js';
import type { Parts } from '../load-features.js';
import { ApiError } from '../platform/api/index.js';
import { explain, type OpenDatabase, reachDatabase } from '../platform/database/index.js';
import { commandLine, type Lifecycle, OperatorError, textOf } from '../platform/process/index.js';

/** Exit status of a command that failed or was interrupted. */
const FAILURE = 1;
/** Exit status for wrong usage. */
const USAGE_ERROR = 2;

/** A command's view of its process. Tests run many commands in one process. */
export interface CommandEnvironment {
  /** @throws OperatorError if the configuration is wrong */
  config: () => Promise<Config>;
  /** Loads the features of the service. @throws OperatorError if they do not fit together */
  parts: () => Promise<Parts>;
  life: Pick<Lifecycle, 'start' | 'isStopping'>;
  streams: { stdin: Readable & { isTTY?: boolean }; stdout: Writable; stderr: Writable };
}

/** The command line of `petstore <name>`. */
export class CommandLine {
  readonly program: Command;

  constructor(
    name: string,
    description: string,
    readonly environment: CommandEnvironment,
  ) {
    const { stdout, stderr } = environment.streams;
    const called = commandLine(name);
    this.program = new Command(called.startsWith('npm') ? `${called} --` : called)
      .description(description)
      .allowExcessArguments(false)
      .showHelpAfterError('Run with --help for usage.')
      .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
      .exitOverride();
  }

  /** Runs a command. A failure prints one line. @returns the exit status */
  async run(args: string[]): Promise<number> {
    try {
      await this.program.parseAsync(args, { from: 'user' });
      return 0;
    } catch (error) {
      if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_ERROR;
      // After a stop, the error only says that the stop closed the database under the command.
      const { life, streams } = this.environment;
      if (!life.isStopping) streams.stderr.write(`${lineOf(error)}\n`);
      return FAILURE;
    }
  }

  /**
   * Runs work on the open database. A signal closes the database before the process ends.
   * @param open by default opens a database that the service has used
   */
  async onDatabase(
    work: (database: OpenDatabase) => Promise<void>,
    open: typeof reachDatabase = reachDatabase,
  ): Promise<void> {
    const config = await this.environment.config();
    const levels = ['fatal', 'error', 'warn'] as const;
    Logger.overrideLogger(config.LOG_LEVEL === 'debug' ? [...levels, 'debug'] : [...levels]);
    const { database, stop } = await this.environment.life.start(async (stopping) => {
      const opened = await open(config, stopping);
      return { database: opened, stop: () => opened.close() };
    });
    try {
      await work(database);
    } finally {
      await stop();
    }
  }

  /** Writes lines to standard output with back-pressure: a long list is never in memory as a whole. */
  async print(lines: Iterable<string> | AsyncIterable<string>): Promise<void> {
    const { stdout } = this.environment.streams;
    for await (const line of lines) if (!stdout.write(`${line}\n`)) await once(stdout, 'drain');
  }
}

/** An error for the operator: one line about what to fix; for a bug, its stack. */
function lineOf(error: unknown): string {
  const explained = error instanceof ApiError ? new OperatorError(error.message) : explain(error);
  return explained instanceof OperatorError ? `petstore: ${explained.message}` : textOf(explained);
}
