import type { EventEmitter } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import { ThrottledWarning } from '../telemetry/index.js';

/** A stack frame. The lines before the first frame are the message, which may repeat what a client sent. */
const FRAME = /^ {4}at .+:\d+:\d+\)?$/;

const logger = new Logger('Connections');
const warning = new ThrottledWarning(logger, 'A connection was cut off because a listener failed');
const forgotten = new ThrottledWarning(logger, 'A promise was forgotten: it failed, and nothing awaits it');
let failures = 0;

/** How often a listener of a server or a connection has failed since the start. */
export function failedListeners(): number {
  return failures;
}

/**
 * Keeps failing listeners of an emitter, or of all emitters with a prototype, from ending the process, as Node does for an
 * exception in a listener and for an unhandled `error` event. For servers, connections, requests and responses: a failure
 * closes its client's connection alone. Still calls the `emit` of the prototype, which tracing patches.
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

/** Runs a callback of a timer or a promise of a connection with the same protection. */
export function guard(socket: Socket | undefined, work: () => void): void {
  try {
    work();
  } catch (error) {
    endFor(socket, error);
  }
}

/** Logs unhandled rejections, at which Node would end the process. */
export function guardPromises(): void {
  // Tests serve several times in one process.
  process.off('unhandledRejection', logForgotten).on('unhandledRejection', logForgotten);
}

const logForgotten = (reason: unknown): void => forgotten.add(describe(reason));

function endFor(socket: Socket | undefined, error: unknown): void {
  failures++;
  warning.add(describe(error));
  socket?.destroy();
}

/** The connection of an emitter, or of an argument of an event. A sent response has its connection only by its request. */
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
