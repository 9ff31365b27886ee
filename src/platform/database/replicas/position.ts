import type { Pool, PoolClient } from 'pg';

/** How far the write-ahead log (WAL) has come, in bytes since it began, and on which of its timelines. */
export interface WalPosition {
  timeline: number;
  bytes: bigint;
}

/**
 * The end of the log up to which commits may have been acknowledged: that of the flushed log, or of the inserted one if
 * commits do not wait for the disk.
 */
const PRIMARY = `SELECT pg_walfile_name(lsn), lsn - '0/0' FROM (SELECT CASE current_setting('synchronous_commit')
  WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END) AS now(lsn)`;

const REPLICA = "SELECT pg_last_wal_replay_lsn() - '0/0'";

/** The timeline is in the server's control file: reading it costs as much as a page of rows. */
const TIMELINE = 'SELECT min_recovery_end_timeline FROM pg_control_recovery() WHERE pg_is_in_recovery()';

const SYSTEM = 'SELECT system_identifier, current_database() FROM pg_control_system()';

/** The position of a primary. A server that has replayed up to there shows all that was acknowledged before the call. */
export async function currentPosition(primary: Pool, prepares: boolean): Promise<WalPosition> {
  const [file, bytes] = (await first(primary, PRIMARY, prepares ? 'wal_position' : undefined)) as [
    string,
    string,
  ];
  return { timeline: parseInt(file.slice(0, 8), 16), bytes: BigInt(bytes) };
}

/** How far a replica has replayed: what the next statement on this connection sees at least. */
export async function replayedBytes(replica: PoolClient, prepares: boolean): Promise<bigint> {
  const [bytes] = await first(replica, REPLICA, prepares ? 'wal_replayed' : undefined);
  return BigInt((bytes ?? -1) as string | number);
}

/** The timeline that a replica follows; 0 for a server that is not, or no longer, a replica. */
export async function replayedTimeline(replica: PoolClient): Promise<number> {
  const [timeline] = await first(replica, TIMELINE);
  return Number(timeline ?? 0);
}

/** The same text for a primary and its replicas, and no others. */
export async function systemOf(connection: Pool | PoolClient): Promise<string> {
  return (await first(connection, SYSTEM)).join(' ');
}

/** @param name under which the connection is to keep the statement */
async function first(connection: Pool | PoolClient, text: string, name?: string): Promise<unknown[]> {
  const { rows } = await connection.query<unknown[]>({ name, text, rowMode: 'array' });
  return rows[0] ?? [];
}
