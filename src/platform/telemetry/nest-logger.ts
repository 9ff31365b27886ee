import { Logger, type LoggerService } from '@nestjs/common';
import type { Config } from '../../config.js';
import { type Log, openLog } from './log.js';

type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

/** Nest logs each module and route that it sets up, which only helps to debug the start. */
const SET_UP = new Set<unknown>([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
]);

/** Opens the log of this process, for Nest's `Logger` too. */
export async function takeOverLog(config: Config): Promise<Log> {
  const log = await openLog(config);
  Logger.overrideLogger(new NestLogger(log));
  return log;
}

/**
 * Nest's `Logger` on the log of this process. A message may be an object; its properties become those of the line. The
 * package `nestjs-pino` would do this too, but put a middleware of 20 µs before every request.
 */
export class NestLogger implements LoggerService {
  constructor(private readonly out: Log) {}

  log(message: unknown, ...rest: unknown[]): void {
    this.write(SET_UP.has(rest.at(-1)) ? 'debug' : 'info', message, rest);
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    const [stack] = rest.length > 1 ? rest : [];
    this.write('error', message, rest, stack);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }

  private write(level: Level, message: unknown, rest: unknown[], stack?: unknown): void {
    const fields = typeof message === 'string' ? { msg: message } : { err: message };
    const line = typeof message === 'object' && !(message instanceof Error) ? message : fields;
    this.out[level]({ context: rest.at(-1), ...line, stack });
  }
}
