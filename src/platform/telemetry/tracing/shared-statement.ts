import { context, type Span, trace } from '@opentelemetry/api';
import type { SharedSpan } from './tracing.js';

/**
 * A statement for several requests. A span has one parent, so it stands in the trace of the first one; it and the spans
 * of the others link to each other.
 */
export class SharedStatement implements SharedSpan {
  private readonly first = context.active();
  private readonly requests: Span[] = [];

  join(): void {
    const span = trace.getActiveSpan();
    if (span) this.requests.push(span);
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    const others = this.requests.slice(1);
    if (others.length === 0) return context.with(this.first, work);
    const span = trace.getTracer('petstore').startSpan(
      'shared statement',
      {
        attributes: { 'petstore.requests': this.requests.length },
        links: others.map((other) => ({ context: other.spanContext() })),
      },
      this.first,
    );
    for (const other of others) other.addLink({ context: span.spanContext() });
    return context.with(trace.setSpan(this.first, span), work).finally(() => span.end());
  }
}
