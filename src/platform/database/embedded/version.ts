import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { OperatorError } from '../../process/index.js';
import type { Binaries } from './binaries.js';
import type { DataFolder } from './data-folder.js';

/**
 * Makes sure that a data directory is of the major version of the programs: PostgreSQL reads no other.
 * @throws OperatorError that says how its data gets into one of this version
 */
export async function requireOwnVersion(folder: DataFolder, { postgres }: Binaries): Promise<void> {
  const theirs = readFileSync(join(folder.dataDirectory, 'PG_VERSION'), 'utf8').trim();
  const { stdout } = await promisify(execFile)(postgres, ['--version']);
  const ours = /\d+/.exec(stdout)?.[0];
  if (theirs === ours) return;
  throw new OperatorError(
    `The data in ${folder.path} is of PostgreSQL ${theirs}, and this release brings ${ours}. ` +
      'With the release that wrote it, run `npm run admin -- data serve`; then here, with another DATA_DIR, ' +
      '`npm run admin -- data copy --from` and the address that it prints.',
  );
}
