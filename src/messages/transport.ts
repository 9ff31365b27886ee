import { JobError } from 'petstore/platform';

/** A message to be delivered. */
export interface OutgoingMessage {
  /** UUID; the same for every try, so that a receiver can recognize a repetition. */
  id: string;
  /** The text exactly as its sender submitted it. */
  message: string;
  createdAt: Date;
}

/**
 * The way messages leave the service. To deliver them otherwise, provide another class under this token in
 * `messages.module.ts`, as `docs/messages.md` shows.
 */
export abstract class Transport {
  /** Where messages go, shown to the operator at the start; without secrets. */
  abstract readonly destination: string;

  /**
   * Hands one message over. May be called again for the same message, even concurrently if a worker was taken for dead.
   * @param signal aborted when the service has to stop, or when another worker has the message
   * @throws DeliveryError to decide what comes next; after any other error the message is tried again
   */
  abstract deliver(message: OutgoingMessage, signal: AbortSignal): Promise<void>;
}

/** A delivery that failed, and what comes next. Its message is kept for the operator, so it must hold nothing secret. */
export class DeliveryError extends JobError {}
