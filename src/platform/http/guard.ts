import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import { framesOf } from '../process/index.js';
import { ThrottledWarning } from '../telemetry/index.js';

const logger = new Logger('Connections');
const warning = new ThrottledWarning(logger, 'A connection was cut off because a listener failed');
const forgotten = new ThrottledWarning(logger, 'A promise that nothing awaits has failed');
let failures = 0;

/** How often a guarded listener or timer has failed since the start. */
export function failedListeners(): number {
  return failures;
}

/**
 * Runs a listener or timer of a connection. An exception there would end the process; here, an exception only closes the
 * connection.
 */
export function guard(socket: Socket | undefined, work: () => void): void {
  try {
    work();
  } catch (error) {
    failures++;
    warning.add(describe(error));
    socket?.destroy();
  }
}

/** Logs unhandled rejections, at which Node would end the process. */
export function guardPromises(): void {
  // Tests start several servers in one process, so the listener may be there already.
  process.off('unhandledRejection', logForgotten).on('unhandledRejection', logForgotten);
}

const logForgotten = (reason: unknown): void => forgotten.add(describe(reason));

/** Without the message, which may repeat what a client sent. */
function describe(error: unknown): string {
  return Error.isError(error) ? [error.name, framesOf(error.stack)].join('\n') : typeof error;
}
