import { type DestinationStream, destination, type Logger, pino } from 'pino';
import type { Config } from '../../config.js';
import { tracing } from './tracing/tracing.js';

/** The log of this process. */
export type Log = Logger;

/** Injection token of `Log`. */
export const LOG = Symbol('log');

const STDERR = 2;
const BUFFER = {
  /** Bytes that are written together: one system call takes as long as twenty lines. */
  minLength: 8_192,
  /** Milliseconds that a line may wait for others. A process that is killed loses as much. */
  periodicFlush: 100,
  /** Bytes that may wait for a stalled reader or a full disk; anything beyond is dropped. */
  maxLength: 16 * 1024 * 1024,
};

/**
 * Opens the log: lines of JSON on standard error, or readable ones if that is a terminal. Standard output is for the
 * start block that the operator reads. Of what a client sends, only the request id is written.
 */
export async function openLog({ LOG_LEVEL }: Config): Promise<Log> {
  const options = {
    level: LOG_LEVEL,
    base: { pid: process.pid },
    formatters: { level: (label: string) => ({ level: label }) },
    mixin: tracing.active?.logFields,
  };
  return pino(options, (await openTerminal()) ?? openBuffered());
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
