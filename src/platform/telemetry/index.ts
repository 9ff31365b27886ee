export { messageOf } from '../process/index.js';
export { type Log, LOG, NestLogger, PROBES, takeOverLog, Throttle, ThrottledWarning } from './log.js';
export { Metrics, MetricsModule, WorkerMetrics } from './metrics.js';
