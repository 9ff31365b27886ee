export { type Log, LOG } from './log.js';
export { MetricsModule } from './metrics.module.js';
export { Metrics } from './metrics.js';
export { NestLogger, takeOverLog } from './nest-logger.js';
export { PROBES } from './probes.js';
export { Throttle } from './throttle.js';
export { ThrottledWarning } from './throttled-warning.js';
export { type SharedSpan, tracing } from './tracing/tracing.js';
export { collectMetrics } from './workers-metrics.js';
