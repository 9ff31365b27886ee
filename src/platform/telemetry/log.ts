import { Logger, type LoggerService } from '@nestjs/common';
import { type DestinationStream, destination, pino, type Logger as Pino } from 'pino';
import type { Config } from '../../config.js';
import { tracing } from './tracing.js';

/** The log of this process. */
export type Log = Pino;

/** Injection token of `Log`. */
export const LOG = Symbol('log');

type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

const STDERR = 2;
const BUFFER = {
  /** Bytes that are written together: one system call takes as long as twenty lines. */
  minLength: 8_192,
  /** Milliseconds that a line may wait for others. A process that is killed loses as much. */
  periodicFlush: 100,
  /** Bytes that may wait for a stalled reader or a full disk; anything beyond is dropped. */
  maxLength: 16 * 1024 * 1024,
};

/** Nest logs each module and route that it sets up, which only helps to debug the start. */
const SET_UP = new Set<unknown>([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
]);

/** A request as the log has it: the recorder of requests writes these, and nothing else has a duration. */
interface RequestLine {
  method?: string;
  route?: string;
  status?: number;
  code?: string;
  durationMs?: number;
}

/** On a terminal, a request is one line: `GET /v1/pets 401 missing_api_key 5 ms`. */
function onOneLine(fields: Record<string, unknown>): Record<string, unknown> {
  const { method, route, status, code, durationMs }: RequestLine = fields;
  if (durationMs === undefined) return fields;
  const told = [method, route, status, code, `${Math.round(durationMs)} ms`];
  return { msg: told.filter((one) => one !== undefined).join(' ') };
}

/**
 * Opens the log: lines of JSON on standard error, or readable ones if that is a terminal. Standard output is for the
 * start block that the operator reads. Of what a client sends, only the request id is written.
 */
export async function openLog({ LOG_LEVEL }: Config): Promise<Log> {
  const terminal = await openTerminal();
  const options = {
    level: LOG_LEVEL,
    base: { pid: process.pid },
    formatters: { level: (label: string) => ({ level: label }), ...(terminal && { log: onOneLine }) },
    mixin: tracing.active?.logFields,
  };
  return pino(options, terminal ?? openBuffered());
}

/** Writes readable lines; undefined if no terminal reads them, or the package for it is not installed. */
async function openTerminal(): Promise<DestinationStream | undefined> {
  if (!process.stderr.isTTY) return undefined;
  const pretty = await import('pino-pretty').catch(() => undefined);
  return pretty?.default({ destination: STDERR, sync: true, ignore: 'pid', translateTime: 'HH:MM:ss.l' });
}

function openBuffered(): DestinationStream {
  const stream = destination({ dest: STDERR, sync: false, ...BUFFER });
  // A log that cannot be written must not end the service. Waiting lines are written once that is possible again.
  stream.on('error', () => {});
  return stream;
}

/** Opens the log of this process, for Nest's `Logger` too. */
export async function takeOverLog(config: Config): Promise<Log> {
  const log = await openLog(config);
  Logger.overrideLogger(new NestLogger(log));
  return log;
}

/** PostgreSQL's errors on data (SQLSTATE class 22) repeat the value that was sent. */
const ON_DATA = /^22\w{3}$/;

/** The message of an error, or the SQLSTATE in its place where the message may hold what a client has sent. */
export function messageOf(error: Error): string {
  const { code, driverError } = error as { code?: unknown; driverError?: { code?: unknown } };
  const state = String(driverError?.code ?? code);
  return ON_DATA.test(state) ? `SQLSTATE ${state}` : error.message;
}

/**
 * Nest's `Logger` on the log of this process. A message may be an object; its properties become those of the line. The
 * package `nestjs-pino` would do this too, but put a middleware of 20 µs before every request.
 */
export class NestLogger implements LoggerService {
  readonly fatal = this.at('fatal');
  readonly warn = this.at('warn');
  readonly debug = this.at('debug');
  readonly verbose = this.at('trace');

  constructor(private readonly out: Log) {}

  log(message: unknown, ...rest: unknown[]): void {
    this.write(SET_UP.has(rest.at(-1)) ? 'debug' : 'info', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    const [stack] = rest.length > 1 ? rest : [];
    this.write('error', message, rest, stack);
  }

  private at(level: Level) {
    return (message: unknown, ...rest: unknown[]): void => this.write(level, message, rest);
  }

  private write(level: Level, message: unknown, rest: unknown[], stack?: unknown): void {
    const isMasked = message instanceof Error && messageOf(message) !== message.message;
    const fields = typeof message === 'string' ? { msg: message } : { err: message };
    if (isMasked) return this.out[level]({ context: rest.at(-1), msg: messageOf(message) });
    const line = typeof message === 'object' && !(message instanceof Error) ? message : fields;
    this.out[level]({ context: rest.at(-1), ...line, stack });
  }
}

/** How often a warning is logged at most, in milliseconds. */
const WARNING_MS = 60_000;

/** Tells of what may happen often: the first time at once, what follows together at the end of each interval. */
export class Throttle {
  private timer?: NodeJS.Timeout;
  private isDue = false;

  constructor(
    private readonly intervalMs: number,
    private readonly tell: () => void,
  ) {}

  /** It has happened. */
  happened(): void {
    this.isDue = true;
    if (!this.timer) this.tellNow();
  }

  /** Tells what is still untold, and no more. */
  stop(): void {
    clearTimeout(this.timer);
    if (this.isDue) this.tell();
    this.isDue = false;
  }

  private tellNow(): void {
    this.timer = undefined;
    if (!this.isDue) return;
    this.isDue = false;
    this.tell();
    this.timer = setTimeout(() => this.tellNow(), this.intervalMs).unref();
  }
}

/** A warning that is logged at most once a minute, with the number of times it was raised and the last reason. */
export class ThrottledWarning {
  private count = 0;
  private reason = '';
  private readonly throttle = new Throttle(WARNING_MS, () => {
    this.logger.warn(`${this.text} (${this.count} since the last such line): ${this.reason}`);
    this.count = 0;
  });

  constructor(
    private readonly logger: Logger,
    private readonly text: string,
  ) {}

  add(reason: string): void {
    this.count++;
    this.reason = reason;
    this.throttle.happened();
  }
}
