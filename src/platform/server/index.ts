export { BodyGuard } from './body.guard.js';
export { ErrorFilter, NotFoundPage } from './error.filter.js';
export { guardPromises } from './guarded-events.js';
export { HttpAdapter } from './http-adapter.js';
export { ObservabilityModule } from './probes.js';
export { ROUTING } from './routes.js';
export { StaticContent } from './static-content.js';
