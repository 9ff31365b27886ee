/**
 * Paths that machines request every few seconds, on every instance whatever its role. They are not traced, and logged at
 * `debug`.
 */
export const PROBES = /^\/(?:health\/(?:live|ready)|metrics)$/;

/** A statement that answers several requests, in the traces of each. */
export interface SharedSpan {
  /** Adds the current request. The first one is that which began the span. */
  join(): void;
  /** Does the work as part of the trace of the first one, with links to and from those of the others. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** What tracing provides to the rest of the service. */
interface Tracing {
  /** Fields of a log line: the trace of the current request. */
  readonly logFields: () => { traceId?: string };
  /** Begins a span that several requests will share. */
  share(): SharedSpan;
  /** Sends what has not been sent yet. */
  stop(): Promise<void>;
}

/**
 * The tracing of this process; undefined if it is off, and then no part of OpenTelemetry is loaded. There is one per
 * process, like OpenTelemetry's own.
 */
export const tracing: { active?: Tracing } = {};
