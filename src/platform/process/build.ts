import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The release of the service that runs, such as `1.1.0`, or `1.2.0-dev` on the way to one: the version of its package. */
export const RELEASE: string = JSON.parse(readFileSync(findPackageJSON(import.meta.url)!, 'utf8')).version;

/** Warns when the sources of a checkout are newer than its build. */
export function warnOfStaleBuild(): void {
  const sources = fileURLToPath(new URL('../../../../src', import.meta.url));
  // An incremental build only rewrites some files.
  if (!existsSync(sources) || newestIn(sources) <= newestIn(fileURLToPath(new URL('../..', import.meta.url))))
    return;
  console.warn('petstore: the sources are newer than the build. Run `npm run build`.');
}

function newestIn(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const modified = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return Math.max(...files.map((entry) => modified(join(entry.parentPath, entry.name))));
}
