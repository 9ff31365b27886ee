import type { Client } from 'pg';
import { Config } from '../../config.js';
import { migrate } from '../../platform/database/index.js';
import { installJobs } from '../../platform/jobs/index.js';
import { OperatorError } from '../../platform/process/index.js';
import { compare, type Contents, countRows, isSame } from './contents.js';
import { copyRows, copySequences } from './rows.js';
import { requireMigrations, requireSameSchema } from './schema.js';
import { openSession } from './session.js';
import { findTables, type Table } from './tables.js';
import { beginTarget, finishTarget } from './target.js';

/** What became of one table. */
export interface Copied extends Contents {
  table: string;
}

/**
 * Shows how far the copy is.
 * @param done rows that have been written, and rows that have been compared
 * @param total of both
 */
type OnProgress = (done: number, total: number) => void;

/**
 * Copies everything that one database of the service holds at one moment into another, and compares both. What is
 * written to the source later is not copied. If it is cut off, another run completes it: tables that are the same already
 * are left alone.
 * @returns every table, as it is in both
 * @throws OperatorError if the target holds other data, or the source is not migrated as this release is
 */
export async function copyData(fromUrl: string, toUrl: string, onProgress: OnProgress): Promise<Copied[]> {
  const source = await openSession(fromUrl);
  try {
    const target = await openSession(toUrl);
    try {
      await source.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      await requireMigrations(source);
      await beginTarget(source, target);
      const config = Object.assign(new Config(), { DATABASE_URL: toUrl });
      await migrate(config, installJobs, { intoUnfinishedCopy: true });
      await requireSameSchema(source, target);
      const copied = await copyTables(source, target, onProgress);
      await copySequences(source, target);
      await finishTarget(target);
      return copied;
    } finally {
      await target.end();
    }
  } finally {
    await source.end();
  }
}

async function copyTables(source: Client, target: Client, onProgress: OnProgress): Promise<Copied[]> {
  const tables = await findTables(source);
  const counts = new Map<Table, number>();
  for (const table of tables) counts.set(table, await countRows(source, table));
  const total = 2 * [...counts.values()].reduce((sum, count) => sum + count, 0);
  let done = 0;
  const advance = (rows: number) => onProgress((done += rows), total);
  const stale = await findStale(source, target, counts);
  if (stale.length > 0) await target.query(`TRUNCATE ${stale.map(({ source: rows }) => rows).join(', ')}`);
  for (const [table, count] of counts) {
    if (stale.includes(table)) await copyRows(source, target, table, advance);
    else advance(count);
  }
  const copied: Copied[] = [];
  for (const table of tables) {
    await target.query(`ANALYZE ${table.name}`);
    copied.push(await verify(source, target, table));
    advance(counts.get(table)!);
  }
  return copied;
}

/** Tables that are not the same in the target, and those that refer to them: they can only be emptied together. */
async function findStale(source: Client, target: Client, counts: Map<Table, number>): Promise<Table[]> {
  const stale: Table[] = [];
  for (const [table, count] of counts) {
    const refersToStale = stale.some(({ name }) => table.parents.includes(name));
    if (refersToStale || !(await isCopied(source, target, table, count))) stale.push(table);
  }
  return stale;
}

async function isCopied(source: Client, target: Client, table: Table, count: number): Promise<boolean> {
  if ((await countRows(target, table)) !== count) return false;
  return count === 0 || isSame(await compare(source, target, table));
}

async function verify(source: Client, target: Client, table: Table): Promise<Copied> {
  const contents = await compare(source, target, table);
  if (isSame(contents)) return { table: table.name, ...contents[0] };
  throw new OperatorError(
    `${table.name} has become different in the target: does another program write to it? Stop it, and run this again.`,
  );
}
