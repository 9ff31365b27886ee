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

/** Milliseconds allowed for sending the last spans when the service stops. */
const STOP_MS = 2_000;

/** What a request has once Express has routed it. */
interface Routed {
  method?: string;
  route?: { path: string };
}

/** A query can contain anything, even a misplaced key, so it is left out. */
const WITHOUT_QUERY: Attributes = { 'url.query': undefined };

const instrumentations = [
  new HttpInstrumentation({
    disableOutgoingRequestInstrumentation: true,
    ignoreIncomingRequestHook: ({ url }) => PROBES.test(url ?? ''),
    startIncomingSpanHook: () => WITHOUT_QUERY,
    applyCustomAttributesOnSpan: (span, request) => {
      const { method, route } = request as Routed;
      if (route) span.updateName(`${method} ${route.path}`).setAttribute('http.route', route.path);
    },
  }),
  // Statements that no request waits for, such as the sweeping of old rows, get no trace of their own.
  new PgInstrumentation({ requireParentSpan: true }),
];

/**
 * Traces this process from now on: requests and their statements. It must run before anything else loads `pg`. The
 * `OTEL_…` variables of the OpenTelemetry specification for headers, time-outs and attributes of the service apply too;
 * its own packages read them.
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
  reportFailures();
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  registerInstrumentations({ instrumentations });
  // Requiring them applies the patches.
  ['http', 'pg'].forEach(createRequire(import.meta.url));
  tracing.active = {
    logFields: () => ({ traceId: trace.getActiveSpan()?.spanContext().traceId }),
    stop: () => Promise.race([provider.shutdown(), sleep(STOP_MS, undefined, { ref: false })]),
  };
}

/** Failures to send traces are logged, and affect nothing else. */
function reportFailures(): void {
  const logger = new Logger('Tracing');
  const warn = (message: string) => logger.warn(`Traces are not sent: ${message.slice(0, 500)}`);
  const ignore = () => {};
  diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
}
