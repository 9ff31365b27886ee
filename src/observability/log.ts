import { type DestinationStream, destination, type Logger, pino } from 'pino';
import type { Config } from '../config.js';
import { tracing } from '../tracing/tracing.js';

/** The log of this process. */
export type Log = Logger;

/** Where `Log` is found by those that are injected. */
export const LOG = Symbol('log');

const STDERR = 2;
const BUFFER = {
  /** Bytes that are written together: one system call takes as long as twenty lines. */
  minLength: 8_192,
  /** Milliseconds that a line may wait for others. A process that is killed loses as much. */
  periodicFlush: 100,
  /** Bytes that wait for a reader that has stalled, or for a disk that is full; what comes beyond is dropped. */
  maxLength: 16 * 1024 * 1024,
};

/**
 * Opens the log: lines of JSON on the standard error, or readable ones where that is a terminal. The standard output is
 * for what the operator of a terminal reads at the start. Nothing that a client sends is written but the request id.
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

/** Writes readable lines; undefined where no terminal reads them, or the package for it was left out of the installation. */
async function openTerminal(): Promise<DestinationStream | undefined> {
  if (!process.stderr.isTTY) return undefined;
  const pretty = await import('pino-pretty').catch(() => undefined);
  return pretty?.default({ destination: STDERR, sync: true, ignore: 'pid', translateTime: 'HH:MM:ss.l' });
}

function openBuffered(): DestinationStream {
  const stream = destination({ dest: STDERR, sync: false, ...BUFFER });
  // A log that cannot be written must not end the service. What waits is written once that is possible again.
  stream.on('error', () => {});
  return stream;
}
