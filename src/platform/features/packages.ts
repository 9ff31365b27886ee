import { readFileSync, realpathSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { OperatorError } from '../process/index.js';

interface Manifest {
  name: string;
  version: string;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Manifest;

/**
 * Features and the service share classes by which Nest and TypeORM know what is what, so there has to be one copy of each
 * of these packages. Where there are two, injection fails with messages that name neither.
 * @param folder of the program that is run: its packages, and those that bring features, are looked at
 * @throws OperatorError that names both copies
 */
export function requireOneOfEach(folder = process.cwd()): void {
  const own = read(findPackageJSON(import.meta.url)!);
  const shared = [own.name, ...Object.keys(own.peerDependencies ?? {})];
  const base = pathToFileURL(join(folder, 'package.json')).href;
  const program = findPackageJSON('.', base);
  if (!program) return;
  for (const from of [base, ...packagesWithFeatures(read(program), own.name, base)]) {
    for (const name of shared) {
      const ours =
        name === own.name ? realpathSync(findPackageJSON(import.meta.url)!) : locate(name, import.meta.url);
      const theirs = locate(name, from);
      if (!ours || !theirs || ours === theirs) continue;
      throw new OperatorError(
        `There are two copies of ${name}: ${read(ours).version} in ${ours} and ${read(theirs).version} in ${theirs}. ` +
          'Have one version for the whole program, such as with `npm dedupe`.',
      );
    }
  }
}

/** Where the package.json of each dependency is that needs this service. */
function packagesWithFeatures({ dependencies = {} }: Manifest, service: string, base: string): string[] {
  return Object.keys(dependencies).flatMap((name) => {
    const path = name === service ? undefined : locate(name, base);
    if (!path) return [];
    const { dependencies: own, peerDependencies } = read(path);
    return service in { ...own, ...peerDependencies } ? [pathToFileURL(path).href] : [];
  });
}

/** The package.json of a package as a file finds it; undefined where there is none. */
function locate(name: string, from: string): string | undefined {
  try {
    const path = findPackageJSON(name, from);
    return path && realpathSync(path);
  } catch {
    return undefined;
  }
}
