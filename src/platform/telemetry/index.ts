export { type Log, LOG, NestLogger, takeOverLog } from './log.js';
export { collectMetrics, Metrics, MetricsModule } from './metrics.js';
export { Throttle, ThrottledWarning } from './throttle.js';
export { PROBES, type SharedSpan, tracing } from './tracing.js';
