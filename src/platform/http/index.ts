export { BODY_READER } from './body.js';
export { Exchange } from './exchange.js';
export { guardPromises } from './guard.js';
export { MetricsController, ObservabilityModule } from './observability.js';
export { ROUTING } from './routes.js';
export { ErrorFilter, HttpAdapter } from './server.js';
export { StaticContent } from './static-content.js';
