/** A message on its way. */
export interface OutgoingMessage {
  /** UUID; the same at every try, so that a receiver can tell a repetition. */
  id: string;
  /** The text exactly as its sender submitted it. */
  message: string;
  createdAt: Date;
}

/**
 * The way messages leave the service. Provide another class under this one in `messages.module.ts` to deliver them
 * otherwise, as `docs/messages.md` shows.
 */
export abstract class Transport {
  /** Where messages go, for the operator to read at the start; without secrets. */
  abstract readonly destination: string;

  /**
   * Hands one message over. It may be called again for the same message, at the same time too where a worker was
   * taken for dead.
   * @param signal aborted when the service has to stop, or when the message is in other hands
   * @throws DeliveryError to say what comes next; after any other error the message is tried again
   */
  abstract deliver(message: OutgoingMessage, signal: AbortSignal): Promise<void>;
}

interface Verdict {
  /** Whether the message must not be tried again. */
  isFinal?: boolean;
  /** Seconds that the receiver wants to be left alone. */
  retryAfterSeconds?: number;
}

/** A delivery that did not succeed. Its message is kept for the operator, so it holds nothing secret. */
export class DeliveryError extends Error {
  readonly isFinal: boolean;
  readonly retryAfterSeconds: number;

  constructor(reason: string, { isFinal = false, retryAfterSeconds = 0 }: Verdict = {}) {
    super(reason);
    this.isFinal = isFinal;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
