import type { EventEmitter } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import { ThrottledWarning } from '../telemetry/index.js';

/** A line of a stack that names code; those before it are the message, which may repeat what a client sent. */
const FRAME = /^ {4}at .+:\d+:\d+\)?$/;

const logger = new Logger('Connections');
const warning = new ThrottledWarning(logger, 'A connection was cut off, as a listener failed');
const forgotten = new ThrottledWarning(
  logger,
  'A promise was forgotten: it has failed, and nothing waits for it',
);
let failures = 0;

/** How often a listener to a server or a connection has failed since the start. */
export function failedListeners(): number {
  return failures;
}

/**
 * Lets none of the listeners of an emitter, or of all with a prototype, end the process: Node ends it at whatever a
 * listener throws, and at an error that nobody listens to. Each server, connection, request and response goes through
 * here, so that a failure costs its own client the connection and nobody else anything. The `emit` of its prototype
 * is still called: tracing, like other monitors, puts its own there.
 */
export function guardEvents(emitter: EventEmitter): void {
  const prototype = Object.getPrototypeOf(emitter) as EventEmitter;
  emitter.emit = function (this: EventEmitter, ...args) {
    try {
      return prototype.emit.apply(this, args);
    } catch (error) {
      endFor([this, ...(args as unknown[])].map(socketOf).find(Boolean), error);
      return true;
    }
  };
}

/** Does what a timer or a promise calls for a connection, in the same way. */
export function guard(socket: Socket | undefined, work: () => void): void {
  try {
    work();
  } catch (error) {
    endFor(socket, error);
  }
}

/** Lets a promise that a request has begun and nothing waits for fail alone: Node ends a process at it. */
export function guardPromises(): void {
  // A process may serve several times, as some tests do.
  process.off('unhandledRejection', logForgotten).on('unhandledRejection', logForgotten);
}

const logForgotten = (reason: unknown): void => forgotten.add(describe(reason));

/** Ends a connection for which something has failed. */
function endFor(socket: Socket | undefined, error: unknown): void {
  failures++;
  warning.add(describe(error));
  socket?.destroy();
}

/** The connection of an emitter, or of an argument of an event. A response that has been sent only has its request's. */
function socketOf(thing: unknown): Socket | undefined {
  if (thing instanceof Socket) return thing;
  if (thing instanceof ServerResponse) return thing.req.socket;
  return thing instanceof IncomingMessage ? thing.socket : undefined;
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const frames = (error.stack ?? '').split('\n').filter((line) => FRAME.test(line));
  return [error.name, ...frames].join('\n');
}
