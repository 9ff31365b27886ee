import { createRequire } from 'node:module';
import { Logger } from '@nestjs/common';
import { type Attributes, diag, DiagLogLevel } from '@opentelemetry/api';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { messageOf, RELEASE, within } from '../process/index.js';
import { PROBES, ThrottledWarning } from './log.js';

/** Milliseconds to export the last spans when the service stops. */
const STOP_MS = 2_000;

/** A query may contain a misplaced key. */
const WITHOUT_QUERY: Attributes = { 'url.query': undefined };

const instrumentations = [
  new HttpInstrumentation({
    disableOutgoingRequestInstrumentation: true,
    ignoreIncomingRequestHook: ({ url }) => PROBES.test(url ?? ''),
    startIncomingSpanHook: () => WITHOUT_QUERY,
    applyCustomAttributesOnSpan: (span, request) => {
      const { method, route } = request as { method?: string; route?: { path: string } };
      if (route) span.updateName(`${method} ${route.path}`).setAttribute('http.route', route.path);
    },
  }),
  // Statements outside requests, such as sweeps of old rows, start no trace.
  new PgInstrumentation({ requireParentSpan: true }),
];

/**
 * Traces requests and their statements from now on. The SDK reads all other settings from the `OTEL_…` variables of
 * OpenTelemetry's specification; metrics and logs have their own ways out of the service.
 * @returns exports the remaining spans; whatever the collector answers, the stop goes on
 */
export function startTracing(): () => Promise<void> {
  const logger = new Logger('Tracing');
  const failures = new ThrottledWarning(logger, 'Traces are not sent');
  const identity = { 'service.name': 'petstore', 'service.version': RELEASE };
  const resource = defaultResource().merge(resourceFromAttributes(identity));
  const sdk = new NodeSDK({ resource, instrumentations, metricReaders: [], logRecordProcessors: [] });
  logWarnings(logger);
  setGlobalErrorHandler((error) =>
    failures.add(Error.isError(error) ? messageOf(error) : 'an unknown failure'),
  );
  sdk.start();
  // Loading a module applies its patches, also if it was loaded before: then to its classes.
  const require = createRequire(import.meta.url);
  ['http', 'pg'].forEach(require);
  createRequire(require.resolve('pg'))('pg-pool');
  const stop = () => sdk.shutdown().catch((error: Error) => failures.add(messageOf(error)));
  return () => within(STOP_MS, stop());
}

/** Logs what OpenTelemetry says of its settings, in place of the console that `OTEL_LOG_LEVEL` selects. */
function logWarnings(logger: Logger): void {
  const warn = (message: string) => logger.warn(message.slice(0, 500));
  const ignore = () => {};
  const out = { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(out, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}
