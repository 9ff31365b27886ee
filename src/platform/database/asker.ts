import { AsyncLocalStorage } from 'node:async_hooks';

/** Who asks for a connection to the database. */
export interface Asker {
  /** Where the request comes from, as `networkOf` says; empty for work of nobody's, such as a job. */
  readonly client: string;
  /** Milliseconds until the answer is due; infinite where nobody waits for one. */
  readonly left: number;
  /** Whether the work has a time of its own, longer than that of others, and so connections of its own. */
  readonly hasOwnTime?: boolean;
  /** Calls `end` once the answer is complete or its client has gone; at once, if it is so already. */
  whenOver(end: () => void): void;
  /** Has the log say that the time was over before the work was done. */
  ranOut(): void;
}

/**
 * Whose work the current call is. Undefined for what is done for several at once, which asks for one connection and gives it
 * back before it asks for another.
 */
export const asker = new AsyncLocalStorage<Asker | undefined>();

/** Runs a function for nobody: in the context that this module was loaded in, which is that of no request. */
export const outside = AsyncLocalStorage.snapshot();
