import { AsyncLocalStorage } from 'node:async_hooks';
import type { Declarations } from './declarations.js';
import { PLATFORM_ERRORS } from './platform.errors.js';

/** The errors and permissions of a service: those of its features, and of the platform. */
export type Registry = Required<Declarations>;

const OF_PLATFORM: Registry = { errors: PLATFORM_ERRORS, permissions: {} };

/**
 * The registry belongs to a start, and not to a module: a process may run several services. Node hands it on to everything that
 * the start begins, such as the requests of its server and the jobs of its workers.
 */
const current = new AsyncLocalStorage<Registry>();

/** Starts a service, or runs a command, with the errors and permissions of its features. */
export function withRegistry<Result>(registry: Registry, start: () => Result): Result {
  return current.run(registry, start);
}

/** The registry of the service that calls; outside of any, as in a unit test, that of the platform. */
export function currentRegistry(): Registry {
  return current.getStore() ?? OF_PLATFORM;
}

/** Whether a service calls. */
export const isInService = (): boolean => current.getStore() !== undefined;
