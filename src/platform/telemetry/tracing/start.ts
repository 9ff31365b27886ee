import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { context, diag, DiagLogLevel, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
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
import type { Config } from '../../../config.js';
import { RELEASE } from '../../process/index.js';
import { instrumentations } from './instrumentations.js';
import { SharedStatement } from './shared-statement.js';
import { tracing } from './tracing.js';

/** Milliseconds allowed for sending the last spans when the service stops. */
const STOP_MS = 2_000;

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
    share: () => new SharedStatement(),
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
