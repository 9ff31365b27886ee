import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder for the databases of the faults, and for the figures of the summary. */
export default function setUp() {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-faults-'));
  // PostgreSQL runs as `nobody` if the tests run as root.
  chmodSync(folder, 0o755);
  process.env.FAULTS_FOLDER = folder;
}
