import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { findSequences, type Table } from './tables.js';

const NEWLINE = 0x0a;

/**
 * Copies all rows of a table in one statement, of which either all arrive or none.
 * @param onRows called with the number of rows that have gone through since the last call
 */
export async function copyRows(
  source: Client,
  target: Client,
  { name, source: rows, columns }: Table,
  onRows: (count: number) => void,
): Promise<void> {
  const list = columns.join(', ');
  const reading = source.query(copyTo(`COPY (SELECT ${list} FROM ${rows}) TO STDOUT`));
  const writing = target.query(copyFrom(`COPY ${name} (${list}) FROM STDIN`));
  await pipeline(
    reading,
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        onRows(countLines(chunk));
        yield chunk;
      }
    },
    writing,
  );
}

/** In the text format of COPY every row ends in a newline, and a newline in a value is escaped. */
function countLines(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

/** Lets every sequence go on where it is; no snapshot holds those back, so none is behind the rows. */
export async function copySequences(source: Client, target: Client): Promise<void> {
  for (const name of await findSequences(source)) {
    const { rows } = await source.query<{ last: string; isCalled: boolean }>(
      `SELECT last_value AS last, is_called AS "isCalled" FROM ${name}`,
    );
    await target.query('SELECT setval($1::regclass, $2, $3)', [name, rows[0]!.last, rows[0]!.isCalled]);
  }
}
