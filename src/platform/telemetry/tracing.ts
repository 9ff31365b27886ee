/**
 * Paths that machines request every few seconds, on every instance whatever its role. They are not traced, and logged at
 * `debug`.
 */
export const PROBES = /^\/(?:health\/(?:live|ready)|metrics)$/;

/** What tracing provides to the rest of the service. */
interface Tracing {
  /** Fields of a log line: the trace of the current request. */
  readonly logFields: () => { traceId?: string };
  /** Sends what has not been sent yet. */
  stop(): Promise<void>;
}

/**
 * The tracing of this process; undefined if it is off, and then no part of OpenTelemetry is loaded. There is one per
 * process, like OpenTelemetry's own.
 */
export const tracing: { active?: Tracing } = {};
