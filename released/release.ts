/**
 * Releases what is committed: `npm run release -- 2.0.0`. Writes the version wherever it stands, keeps document, packages
 * and bill of materials in this folder, commits them under a tag, and leaves the tree at the next minor version's `-dev`.
 * Refuses a tree with changes, a version without an entry in the changelog, and a document that breaks clients of an
 * earlier one, or is not the committed one.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = join(import.meta.dirname, '..');
const CLIENT = 'clients/typescript/package.json';
const OVERLAYS = ['production', 'staging'].map((name) => `deploy/k8s/overlays/${name}/kustomization.yaml`);

/** The releases whose documents are in this folder, the last one last. */
export function releases(): string[] {
  const names = readdirSync(import.meta.dirname);
  const versions = names.flatMap((name) => /^openapi-(.*)\.json$/.exec(name)?.[1] ?? []);
  return versions.toSorted(new Intl.Collator('en', { numeric: true }).compare);
}

function run(program: string, ...args: string[]): string {
  return execFileSync(program, args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 27 });
}

function edit(path: string, before: RegExp, after: string): void {
  const text = readFileSync(join(ROOT, path), 'utf8');
  if (!before.test(text)) refuse(`${path} has no ${before.source}`);
  writeFileSync(join(ROOT, path), text.replace(before, after));
}

function refuse(reason: string): never {
  console.error(`petstore: ${reason}`);
  process.exit(1);
}

function refuseWhatCannotBe(version: string): void {
  if (!/^\d+\.\d+\.\d+$/.test(version) || releases().includes(version))
    refuse(`"${version}" is no version to come.`);
  const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
  if (!changelog.includes(`\n## ${version}\n`)) refuse(`CHANGELOG.md has no entry "## ${version}".`);
  // Also builds, and writes the document and the client.
  run('npm', 'run', 'openapi');
  if (run('git', 'status', '--porcelain'))
    refuse('There are changes that are not committed, or a build writes another document.');
  execFileSync('npm', ['run', 'jest', '--', 'versioning'], { cwd: ROOT, stdio: 'inherit' });
}

function setVersion(version: string): void {
  run('npm', 'version', version, '--no-git-tag-version', '--allow-same-version');
  edit(CLIENT, /(?<="version": ")[^"]*/, version);
  run('npm', 'run', 'openapi');
}

function keep(version: string): void {
  const today = new Date().toISOString().slice(0, 10);
  edit('CHANGELOG.md', new RegExp(`^## ${version}$`, 'm'), `## [${version}] - ${today}`);
  for (const path of OVERLAYS) edit(path, /(?<=newTag: ).*/, version);
  run('npm', 'run', 'build:client');
  // The last packages of each major version are kept: their data and their clients are tested.
  const [major] = version.split('.');
  const former = globSync([`*-${major}.*.tgz`, `sbom-${major}.*`], { cwd: import.meta.dirname });
  for (const name of former) rmSync(join(import.meta.dirname, name));
  run('npm', 'pack', '--ignore-scripts', '.', './clients/typescript', '--pack-destination', 'released');
  cpSync(join(ROOT, 'openapi.json'), join(ROOT, `released/openapi-${version}.json`));
  const bill = run('npm', 'sbom', '--sbom-format=cyclonedx', '--package-lock-only', '--omit=dev');
  writeFileSync(join(ROOT, `released/sbom-${version}.cdx.json`), bill);
}

if (import.meta.url === pathToFileURL(process.argv[1]!).href) {
  const [version = ''] = process.argv.slice(2);
  refuseWhatCannotBe(version);
  setVersion(version);
  keep(version);
  run('git', 'add', '--all');
  run('git', 'commit', '--quiet', '--message', `Release ${version}`);
  run('git', 'tag', `v${version}`);
  const [major, minor] = version.split('.').map(Number) as [number, number];
  setVersion(`${major}.${minor + 1}.0-dev`);
  run('git', 'commit', '--quiet', '--all', '--message', `Go on to ${major}.${minor + 1}.0-dev`);
}
