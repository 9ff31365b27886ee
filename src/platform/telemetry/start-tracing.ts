import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { type Attributes, context, diag, DiagLogLevel, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Config } from '../../config.js';
import { RELEASE } from '../process/index.js';
import { PROBES, tracing } from './tracing.js';

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
 * Traces requests and their statements from now on. To be called before any module loads `pg`. OpenTelemetry's packages
 * read the other `OTEL_…` variables of its specification: headers, time-outs, attributes of the service.
 */
export function startTracing({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER_ARG }: Config): void {
  const url = `${OTEL_EXPORTER_OTLP_ENDPOINT}/v1/traces`;
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'petstore', 'service.version': RELEASE }))
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(OTEL_TRACES_SAMPLER_ARG) }),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url }) })],
  });
  logExportFailures();
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  registerInstrumentations({ instrumentations });
  // Loading them applies the patches.
  ['http', 'pg'].forEach(createRequire(import.meta.url));
  tracing.active = {
    logFields: () => ({ traceId: trace.getActiveSpan()?.spanContext().traceId }),
    stop: () => Promise.race([provider.shutdown(), sleep(STOP_MS, undefined, { ref: false })]),
  };
}

function logExportFailures(): void {
  const logger = new Logger('Tracing');
  const warn = (message: string) => logger.warn(`Traces are not sent: ${message.slice(0, 500)}`);
  const ignore = () => {};
  diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
}
