/** A statement that answers several requests, in the traces of these. */
export interface SharedSpan {
  /** Adds the request that is under way. The first one is that which began the span. */
  join(): void;
  /** Does the work as a part of the trace of the first one, with links to and from those of the others. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** What the rest of the service does for traces. */
interface Tracing {
  /** Fields of a line in the log: the trace of the request that is under way. */
  readonly logFields: () => { traceId?: string };
  /** Begins what several requests will share. */
  share(): SharedSpan;
  /** Sends what was not sent yet. */
  stop(): Promise<void>;
}

/**
 * The tracing of this process; undefined where it is off, and then no part of OpenTelemetry is loaded. It is one for the
 * process, as OpenTelemetry's own is.
 */
export const tracing: { active?: Tracing } = {};
