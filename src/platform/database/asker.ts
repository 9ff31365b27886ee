import { AsyncLocalStorage } from 'node:async_hooks';

/** The request or other work that a database connection is for. */
export interface Asker {
  /** The account once it is known, before that the network (`networkOf`); empty for work without a client, such as a job. */
  readonly client: string;
  /** Milliseconds until the answer is due; infinite where no client waits for one. */
  readonly left: number;
  /** Whether the operation has a longer time limit of its own, and so a pool of its own. */
  readonly hasOwnTime?: boolean;
  /** Calls `end` once the answer is complete or the client has gone; at once if that has happened already. */
  whenOver(end: () => void): void;
  /** Logs that the time was over before the work was done. */
  ranOut(): void;
}

/** The request that the current call works for; undefined for work that several callers share. */
export const asker = new AsyncLocalStorage<Asker | undefined>();
