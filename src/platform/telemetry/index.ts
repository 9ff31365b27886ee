export { type Log, LOG, messageOf, NestLogger, takeOverLog, Throttle, ThrottledWarning } from './log.js';
export { collectMetrics, Metrics, MetricsModule } from './metrics.js';
export { PROBES, tracing } from './tracing.js';
