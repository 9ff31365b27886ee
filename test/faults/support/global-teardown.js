import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Prints the effect of every fault on the service, and removes what the tests left. */
export default function tearDown() {
  const folder = process.env.FAULTS_FOLDER;
  const file = join(folder, 'figures');
  if (existsSync(file)) process.stdout.write(`\n${readFileSync(file, 'utf8')}\n`);
  rmSync(folder, { recursive: true, force: true });
}
