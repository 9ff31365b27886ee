import { constants, fstatSync, openSync } from 'node:fs';
import { Logger, type LoggerService } from '@nestjs/common';
import { type DestinationStream, destination, pino, type Logger as Pino } from 'pino';
import { type Config, sendsTraces } from '../../config.js';
import { framesOf, onWarning, shownError } from '../process/index.js';

export type Log = Pino;

/** Injection token of `Log`. */
export const LOG = Symbol('log');

type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

/** Paths that orchestrators and Prometheus poll on every instance: not traced, and logged at `debug`. */
export const PROBES = /^\/(?:health\/(?:live|ready)|metrics)$/;

const STDERR = 2;
const BUFFER = {
  /** Bytes to collect before a write: a system call costs as much as twenty lines. */
  minLength: 8_192,
  /** Maximum milliseconds that a line is buffered; a killed process loses buffered lines. */
  periodicFlush: 100,
  /** Bytes buffered for a stalled reader or a full disk; further lines are dropped. */
  maxLength: 16 * 1024 * 1024,
};

/** Milliseconds that an exiting process waits for a stalled reader of its last lines. */
const LAST_LINES_MS = 500;

/** Contexts in which Nest logs every module and route at the start: of use only to debug the start. */
const SETUP_CONTEXTS = new Set<unknown>([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
]);

/** On a terminal, shortens the lines of requests, the only ones with a duration: `GET /v1/pets 401 missing_api_key 5 ms`. */
function onOneLine(fields: Record<string, unknown>): Record<string, unknown> {
  const { method, route, status, code, durationMs } = fields as Record<string, string | number | undefined>;
  if (durationMs === undefined) return fields;
  const words = [method, route, status, code, `${Math.round(Number(durationMs))} ms`];
  return { msg: words.filter((word) => word !== undefined).join(' ') };
}

/**
 * Opens the log on standard error: JSON lines, or readable lines on a terminal. Standard output is for the start block.
 * Except for the request id, the log contains nothing that a client sends.
 */
export async function openLog(config: Config): Promise<Log> {
  const terminal = await openTerminal();
  const options = {
    level: config.LOG_LEVEL,
    base: { pid: process.pid },
    formatters: { level: (label: string) => ({ level: label }), ...(terminal && { log: onOneLine }) },
    mixin: sendsTraces(config) ? await traceFields() : undefined,
  };
  return pino(options, terminal ?? openBuffered());
}

/** Writes readable lines; undefined if standard error is no terminal, or pino-pretty is not installed. */
async function openTerminal(): Promise<DestinationStream | undefined> {
  if (!process.stderr.isTTY) return undefined;
  const pretty = await import('pino-pretty').catch(() => undefined);
  return pretty?.default({ destination: STDERR, sync: true, ignore: 'pid', translateTime: 'HH:MM:ss.l' });
}

/**
 * Writes synchronously: with `sync: false`, pino writes the last lines at exit, and retries for ever if the disk is full or the
 * pipe's reader has stalled. A synchronous write blocks no request, as Node has made a pipe non-blocking (`process.stderr`).
 */
function openBuffered(): DestinationStream {
  let waitUntil = -Infinity;
  const stream = destination({
    dest: openStderr(),
    sync: true,
    ...BUFFER,
    // Retries only at exit; before, buffered lines are written together with the next line.
    retryEAGAIN: () => performance.now() < waitUntil,
  });
  // A log that cannot be written must not end the service.
  stream.on('error', () => {});
  process.on('exit', () => {
    waitUntil = performance.now() + LAST_LINES_MS;
    stream.flush();
  });
  return stream;
}

/**
 * Reopens the pipe at standard error where the system allows reopening: workers share the inherited pipe, which Node makes
 * blocking again as soon as one worker ends.
 */
function openStderr(): number {
  try {
    const { O_WRONLY, O_NONBLOCK } = constants;
    return fstatSync(STDERR).isFIFO() ? openSync('/dev/stderr', O_WRONLY | O_NONBLOCK) : STDERR;
  } catch {
    return STDERR;
  }
}

/** The fields that connect a line to the trace of its request. */
async function traceFields(): Promise<() => object> {
  const { trace } = await import('@opentelemetry/api');
  return () => ({ traceId: trace.getActiveSpan()?.spanContext().traceId });
}

/** Opens the log, and makes Nest's `Logger` write to it. */
export async function takeOverLog(config: Config): Promise<Log> {
  const log = await openLog(config);
  Logger.overrideLogger(new NestLogger(log));
  onWarning((line) => new Logger('Node').warn(line));
  return log;
}

/** Levels of nesting that a logged object shows. */
const MAX_DEPTH = 5;

/** A copy of a logged value without the properties of errors, which may hold values of SQL statements. */
function withoutValues(value: unknown, depth = 0): unknown {
  if (Error.isError(value)) return shownError(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === MAX_DEPTH) return Array.isArray(value) ? '[Array]' : '[Object]';
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return withoutValues(toJSON.call(value), depth + 1);
  if (Array.isArray(value)) return value.map((item) => withoutValues(item, depth + 1));
  const entries = Object.entries(value).map(([name, item]) => [name, withoutValues(item, depth + 1)]);
  return Object.fromEntries(entries);
}

const isStack = (value: unknown): boolean => typeof value === 'string' && /^ {4}at /m.test(value);

/**
 * Writes Nest's log lines to the log of this process. The properties of an object message become properties of the line.
 * The first error among the arguments becomes `err`, further arguments `args`. The package `nestjs-pino` would add a
 * middleware of 20 µs to every request.
 */
export class NestLogger implements LoggerService {
  readonly fatal = this.at('fatal');
  readonly error = this.at('error');
  readonly warn = this.at('warn');
  readonly debug = this.at('debug');
  readonly verbose = this.at('trace');

  private readonly out: Log;

  constructor(log: Log) {
    // Replaces pino's own serializer, which writes all properties of an error.
    this.out = log.child({}, { serializers: { err: (shown: unknown) => shown } });
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.write(SETUP_CONTEXTS.has(rest.at(-1)) ? 'debug' : 'info', message, rest);
  }

  private at(level: Level) {
    return (message: unknown, ...rest: unknown[]): void => this.write(level, message, rest);
  }

  private write(level: Level, message: unknown, rest: unknown[]): void {
    const context = typeof rest.at(-1) === 'string' && !isStack(rest.at(-1)) ? rest.at(-1) : undefined;
    const further = rest.slice(0, context === undefined ? undefined : -1).filter((one) => one !== undefined);
    const stack = further.find(isStack);
    const err = [message, ...further].find((one) => Error.isError(one));
    const args = further.filter((one) => one !== stack && one !== err);
    // A time or an address is a text in JSON.
    const shown = message === err ? err : withoutValues(message);
    const isObject = typeof shown === 'object' && shown !== null && shown !== err;
    const { msg, ...fields } = (isObject ? shown : { msg: shown }) as { msg?: unknown };
    this.out[level](
      {
        context,
        ...fields,
        err: err && shownError(err),
        args: args.length > 0 ? withoutValues(args) : undefined,
        stack: stack === undefined ? undefined : framesOf(stack),
      },
      msg === err ? undefined : (msg as string | undefined),
    );
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

  /** Logs a pending event, and clears the timer. */
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
