import { Logger, type LoggerService } from '@nestjs/common';
import { type DestinationStream, destination, pino, type Logger as Pino } from 'pino';
import type { Config } from '../../config.js';
import { tracing } from './tracing.js';

export type Log = Pino;

/** Injection token of `Log`. */
export const LOG = Symbol('log');

type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

const STDERR = 2;
const BUFFER = {
  /** Bytes per write: a system call costs as much as twenty lines. */
  minLength: 8_192,
  /** Milliseconds that a line may be buffered: what a killed process loses. */
  periodicFlush: 100,
  /** Bytes buffered for a stalled reader or a full disk; further lines are dropped. */
  maxLength: 16 * 1024 * 1024,
};

/** Contexts in which Nest logs every module and route at the start: of use only to debug the start. */
const SETUP_CONTEXTS = new Set<unknown>([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
]);

/** Shortens requests, the only lines with a duration, on a terminal: `GET /v1/pets 401 missing_api_key 5 ms`. */
function onOneLine(fields: Record<string, unknown>): Record<string, unknown> {
  const { method, route, status, code, durationMs } = fields as Record<string, string | number | undefined>;
  if (durationMs === undefined) return fields;
  const words = [method, route, status, code, `${Math.round(Number(durationMs))} ms`];
  return { msg: words.filter((word) => word !== undefined).join(' ') };
}

/**
 * Opens the log on standard error: JSON lines, or readable lines on a terminal. Standard output is for the start block.
 * The log holds nothing that a client sends but the request id.
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

/** Writes readable lines; undefined if standard error is no terminal, or pino-pretty is not installed. */
async function openTerminal(): Promise<DestinationStream | undefined> {
  if (!process.stderr.isTTY) return undefined;
  const pretty = await import('pino-pretty').catch(() => undefined);
  return pretty?.default({ destination: STDERR, sync: true, ignore: 'pid', translateTime: 'HH:MM:ss.l' });
}

function openBuffered(): DestinationStream {
  const stream = destination({ dest: STDERR, sync: false, ...BUFFER });
  // A log that cannot be written must not end the service; buffered lines are written later.
  stream.on('error', () => {});
  return stream;
}

/** Opens the log, and has Nest's `Logger` write to it. */
export async function takeOverLog(config: Config): Promise<Log> {
  const log = await openLog(config);
  Logger.overrideLogger(new NestLogger(log));
  return log;
}

/** PostgreSQL's data exceptions (SQLSTATE class 22) repeat the value that was sent. */
const DATA_EXCEPTION = /^22\w{3}$/;

/** The message of an error, or its SQLSTATE if the message may repeat a client's value. */
export function messageOf(error: Error): string {
  const { code, driverError } = error as { code?: unknown; driverError?: { code?: unknown } };
  const state = String(driverError?.code ?? code);
  return DATA_EXCEPTION.test(state) ? `SQLSTATE ${state}` : error.message;
}

/**
 * Nest's `Logger` on the log of this process. The properties of an object message become properties of the line. The
 * package `nestjs-pino` would add a middleware of 20 µs to every request.
 */
export class NestLogger implements LoggerService {
  readonly fatal = this.at('fatal');
  readonly warn = this.at('warn');
  readonly debug = this.at('debug');
  readonly verbose = this.at('trace');

  constructor(private readonly out: Log) {}

  log(message: unknown, ...rest: unknown[]): void {
    this.write(SETUP_CONTEXTS.has(rest.at(-1)) ? 'debug' : 'info', message, rest);
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

/** Milliseconds between two lines of one warning. */
const WARNING_MS = 60_000;

/** Logs an event at once, then at most once per interval. */
export class Throttle {
  private timer?: NodeJS.Timeout;
  private isPending = false;

  constructor(
    private readonly intervalMs: number,
    private readonly log: () => void,
  ) {}

  /** Notes an event, which `log` reports now or at the end of the interval. */
  trigger(): void {
    this.isPending = true;
    if (!this.timer) this.flush();
  }

  /** Logs a pending event; no timer is left. */
  stop(): void {
    clearTimeout(this.timer);
    if (this.isPending) this.log();
    this.isPending = false;
  }

  private flush(): void {
    this.timer = undefined;
    if (!this.isPending) return;
    this.isPending = false;
    this.log();
    this.timer = setTimeout(() => this.flush(), this.intervalMs).unref();
  }
}

/** A warning that is logged at most once a minute, with the number of occurrences and the last reason. */
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
    this.throttle.trigger();
  }
}
