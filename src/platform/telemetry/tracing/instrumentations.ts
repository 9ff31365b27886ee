import type { Attributes } from '@opentelemetry/api';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { PROBES } from '../probes.js';

/** What a request has once Express has routed it. */
interface Routed {
  method?: string;
  route?: { path: string };
}

/** A query can contain anything, even a misplaced key, so it is left out. */
const WITHOUT_QUERY: Attributes = { 'url.query': undefined };

export const instrumentations = [
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
