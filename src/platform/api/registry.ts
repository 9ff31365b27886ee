import { AsyncLocalStorage } from 'node:async_hooks';
import type { Declarations } from './declarations.js';
import { PLATFORM_ERRORS } from './platform.errors.js';

/** The errors and permissions of a service, declared by its features and by the platform. */
export type Registry = Required<Declarations>;

const OF_PLATFORM: Registry = { errors: PLATFORM_ERRORS, permissions: {} };

/**
 * Each start has its own registry, because a process may run several services. Node passes the registry on to everything that
 * the start begins, such as the requests of its server and the jobs of its workers.
 */
const current = new AsyncLocalStorage<Registry>();

/** Starts a service, or runs a command, with the errors and permissions of its features. */
export function withRegistry<Result>(registry: Registry, start: () => Result): Result {
  return current.run(registry, start);
}

/** The registry of the calling service; outside a service, as in a unit test, the platform's. */
export function currentRegistry(): Registry {
  return current.getStore() ?? OF_PLATFORM;
}

/** Whether the caller runs inside a service. */
export const isInService = (): boolean => current.getStore() !== undefined;
