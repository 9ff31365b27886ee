import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { QueryRunner } from 'typeorm';
import { OperatorError } from '../process/index.js';
import { TIMEOUTS } from './timeouts.js';

/** How often a process that waits for its turn asks again, in milliseconds. */
const INTERVAL_MS = 100;

/** Who has an advisory lock with a key of one number, which fits into 32 bits. */
const HOLDER = `
  SELECT pid, coalesce(host(client_addr), 'a local socket') AS address
  FROM pg_locks JOIN pg_stat_activity USING (pid)
  WHERE locktype = 'advisory' AND classid = 0 AND objid = $1 AND objsubid = 1 AND granted
    AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/**
 * Takes the lock under which one process migrates while others wait, and tells the log what it waits for.
 * @param limits after how many milliseconds it says so for the first time, how often again, and when it gives up
 * @throws OperatorError if it has waited in vain
 */
export async function awaitTurn(
  session: QueryRunner,
  lock: number,
  limits = TIMEOUTS.migrationTurn,
): Promise<void> {
  const begun = performance.now();
  for (let patience = limits.first; !(await isTaken(session, lock, patience)); patience = limits.next) {
    const waited = performance.now() - begun;
    const holder = await findHolder(session, lock);
    if (waited >= limits.total)
      throw new OperatorError(
        `${holder} has been migrating this database for more than ${seconds(waited)}. If it is gone, end its session.`,
      );
    new Logger('Database').warn(
      `Waiting for ${holder} to migrate the database, for ${seconds(waited)} so far`,
    );
  }
}

/**
 * Takes a lock within so many milliseconds. It asks again and again: a statement that waited would hold a snapshot, for
 * whose end `CREATE INDEX CONCURRENTLY` waits, and with it the holder of the lock.
 */
async function isTaken(session: QueryRunner, lock: number, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  for (;;) {
    const rows = (await session.query('SELECT pg_try_advisory_lock($1) AS taken', [lock])) as {
      taken: boolean;
    }[];
    if (rows[0]!.taken) return true;
    if (performance.now() >= end) return false;
    await sleep(INTERVAL_MS);
  }
}

async function findHolder(session: QueryRunner, lock: number): Promise<string> {
  const rows = (await session.query(HOLDER, [lock])) as { pid: number; address: string }[];
  const [holder] = rows;
  return holder
    ? `another process (PostgreSQL's session ${holder.pid}, from ${holder.address})`
    : 'another process';
}

function seconds(milliseconds: number): string {
  return `${Math.round(milliseconds / 1_000)} s`;
}
