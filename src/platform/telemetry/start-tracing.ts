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

/** Leaves the query out of a span: a client may have put an API key there. */
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
 * OpenTelemetry's specification. Metrics and logs are not exported by the SDK.
 * @returns a function that exports the remaining spans, never fails, and ends after `STOP_MS` at the latest
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
  // `require` applies the patches to a module, even to the classes of a module that is loaded already.
  const require = createRequire(import.meta.url);
  ['http', 'pg'].forEach(require);
  createRequire(require.resolve('pg'))('pg-pool');
  const stop = () => sdk.shutdown().catch((error: Error) => failures.add(messageOf(error)));
  return () => within(STOP_MS, stop());
}

/** Logs OpenTelemetry's warnings about its settings, instead of the console output of `OTEL_LOG_LEVEL`. */
function logWarnings(logger: Logger): void {
  const warn = (message: string) => logger.warn(message.slice(0, 500));
  const ignore = () => {};
  const out = { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(out, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}
