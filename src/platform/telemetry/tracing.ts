/** Paths that orchestrators and Prometheus poll on every instance: not traced, and logged at `debug`. */
export const PROBES = /^\/(?:health\/(?:live|ready)|metrics)$/;

interface Tracing {
  /** Fields for each log line: the trace of the current request. */
  readonly logFields: () => { traceId?: string };
  /** Exports the remaining spans. */
  stop(): Promise<void>;
}

/** The tracing of this process; while it is off, `active` is undefined, and no part of OpenTelemetry is loaded. */
export const tracing: { active?: Tracing } = {};
