import type { Config } from '../../config.js';

/** Connections of a process for work that needs sessions of its own: its jobs. */
export const JOB_CONNECTIONS = 2;

/** Connections for migrations, commands and people. */
const RESERVE = 20;

/** How many connections the database of a service must allow. */
export function connectionsOf({ WORKERS, DATABASE_POOL_SIZE }: Config): number {
  return WORKERS * (DATABASE_POOL_SIZE + JOB_CONNECTIONS) + RESERVE;
}
