import type { PoolClient } from 'pg';
import type { EntityManager } from 'typeorm';
import { DeadlineClient } from '../database/deadline-client.js';
import { TIMEOUTS } from '../database/timeouts.js';

/** A transaction, and whether it has to be undone. */
export interface OpenTransaction {
  manager: EntityManager;
  client: PoolClient;
  /** What is done at its end. */
  last: (() => Promise<unknown>)[];
  /** Whether it is being ended: what is still asked for would be done outside of it. */
  isOver: boolean;
  failure?: { error: unknown };
}

/** Closes the connection of a request's transaction that takes too long, however many statements it has made. */
export function limit(client: PoolClient): NodeJS.Timeout | undefined {
  if (!(client instanceof DeadlineClient)) return undefined;
  return setTimeout(() => client.terminate('the transaction has taken too long'), TIMEOUTS.transaction);
}

/**
 * Does the last of a transaction, up to where its statements have been sent.
 * @throws what keeps one from being sent
 */
export async function sendLast({ client, last }: OpenTransaction): Promise<Promise<unknown>[]> {
  const sent: Promise<unknown>[] = [];
  for (const work of last) {
    const isSent = client instanceof DeadlineClient ? client.sent() : undefined;
    const done = work();
    done.catch(() => {});
    sent.push(done);
    await Promise.race([isSent ?? done, done]);
  }
  return sent;
}
