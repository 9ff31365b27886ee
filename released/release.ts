/**
 * Releases what is committed: `npm run release -- 1.1.0`. Writes the number wherever it stands, keeps in this folder what
 * later releases are held against, commits both under a tag, and leaves the tree at the next minor version's `-dev`.
 * Refused, before anything is written: a tree with changes, a number that does not follow, a changelog that says nothing
 * of it or of what is new in the document, a document that is not the committed one, packages with a licence that has not
 * been agreed to or with a known weakness (`npm audit`; `--unaudited` where its service cannot be reached, which the
 * commit then says), and sources that do not build the same bytes twice.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = join(import.meta.dirname, '..');
const CLIENT = 'clients/typescript/package.json';
const OVERLAYS = ['production', 'staging'].map((name) => `deploy/k8s/overlays/${name}/kustomization.yaml`);

/** Licences (SPDX) that a package may have which runs with the service. Others are looked at by a person first. */
const LICENCES = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
]);

/** Packages that say nothing of it in today's form, with the licence that is in their folders. */
const AGREED: Record<string, string> = {
  'busboy 1.6.0': 'MIT',
  'passport-http-bearer 1.0.1': 'MIT',
  'passport-strategy 1.0.0': 'MIT',
  'pause 0.0.1': 'MIT',
  'streamsearch 1.1.0': 'MIT',
};

/** The parts of an OpenAPI document whose names are compared. */
interface Named {
  paths: Record<string, Record<string, { parameters?: { name: string }[] }>>;
  components: { schemas: Record<string, { properties?: object }> };
}

/** The parts of a CycloneDX bill of materials that are looked at. */
export interface Bill {
  components: {
    name: string;
    version: string;
    licenses?: { license?: { id?: string }; expression?: string }[];
  }[];
}

/** The names of operations, parameters, and fields of a document that an earlier one has not. */
export function newNames(before: Named, after: Named): string[] {
  const old = new Set(namesOf(before));
  return [...new Set(namesOf(after))].filter((name) => !old.has(name));
}

function namesOf({ paths, components }: Named): string[] {
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { parameters = [] }]) => [
      `${method.toUpperCase()} ${path}`,
      ...parameters.map(({ name }) => name),
    ]),
  );
  const schemas = Object.values(components.schemas);
  return [...operations, ...schemas.flatMap(({ properties = {} }) => Object.keys(properties))];
}

/** What the changelog says of the release to come. */
export function unreleased(changelog: string): string {
  return /^## \[Unreleased\]\n([^]*?)(?=^## \[|$(?![^]))/m.exec(changelog)![1]!.trim();
}

/** The packages whose licence has not been agreed to. */
export function unagreed({ components }: Bill): string[] {
  return components.flatMap(({ name, version, licenses = [] }) => {
    const told = licenses.map(({ license, expression }) => license?.id ?? expression ?? 'none');
    const ids = told.length > 0 ? told : [AGREED[`${name} ${version}`] ?? 'none'];
    const isAgreed = ids.every((id) => id.match(/[^ ()]+/g)!.some((one) => LICENCES.has(one)));
    return isAgreed ? [] : [`the licence of ${name} ${version} has not been agreed to: ${ids.join(', ')}`];
  });
}

/** The bill of materials of what runs in production, by npm, in the format of CycloneDX. */
export function billOfMaterials(): string {
  return run('npm', 'sbom', '--sbom-format=cyclonedx', '--package-lock-only', '--omit=dev');
}

/** Whether a version comes after another one. */
export function follows(version: string, last: string): boolean {
  return /^\d+\.\d+\.\d+$/.test(version) && last !== version && inOrder([version, last])[0] === last;
}

/** The releases that are kept in this folder, the last one last. */
export function releases(): string[] {
  const names = readdirSync(import.meta.dirname);
  return inOrder(names.flatMap((name) => /^petstore-(\d.*)\.tgz$/.exec(name)?.[1] ?? []));
}

/** The last release that is kept in this folder. */
export function lastRelease(): string {
  return releases().at(-1)!;
}

function inOrder(versions: string[]): string[] {
  return versions.toSorted(new Intl.Collator('en', { numeric: true }).compare);
}

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const write = (path: string, text: string) => writeFileSync(join(ROOT, path), text);

function run(program: string, ...args: string[]): string {
  return execFileSync(program, args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 27 });
}

function refuse(reasons: string[]): void {
  if (reasons.length === 0) return;
  console.error(reasons.map((reason) => `petstore: ${reason}`).join('\n'));
  process.exit(1);
}

/** The SHA-256 of the package that a clone of what is committed builds. */
function built(): string {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-release-'));
  try {
    const cwd = join(folder, 'clone');
    run('git', 'clone', '--quiet', ROOT, cwd);
    symlinkSync(join(ROOT, 'node_modules'), join(cwd, 'node_modules'));
    execFileSync('npm', ['run', 'build'], { cwd });
    execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd });
    const name = readdirSync(folder).find((one) => one.endsWith('.tgz'))!;
    return createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Why what is committed cannot be released as this version. */
function whyNot(version: string): string[] {
  const last = lastRelease();
  const said = unreleased(read('CHANGELOG.md'));
  const [before, after] = [`released/openapi-${last}.json`, 'openapi.json'].map((path) =>
    JSON.parse(read(path)),
  );
  return [
    ...(follows(version, last) ? [] : [`"${version}" does not follow ${last}`]),
    ...(run('git', 'status', '--porcelain') ? ['there are changes that are not committed'] : []),
    ...(said ? [] : ['the changelog says nothing under Unreleased']),
    ...newNames(before, after)
      .filter((name) => !said.includes(name))
      .map((name) => `the changelog does not name ${name}, which is new in the document`),
    ...unagreed(JSON.parse(billOfMaterials()) as Bill),
  ];
}

function setVersion(version: string): void {
  run('npm', 'version', version, '--no-git-tag-version', '--allow-same-version');
  write(CLIENT, read(CLIENT).replace(/("version": ")[^"]*/, `$1${version}`));
  run('npm', 'run', 'openapi');
}

/** Writes what a release is: its number wherever that stands, and what is kept of it in this folder. */
function keep(version: string): void {
  setVersion(version);
  for (const path of OVERLAYS) write(path, read(path).replace(/(newTag: ).*/, `$1${version}`));
  const today = new Date().toISOString().slice(0, 10);
  write(
    'CHANGELOG.md',
    read('CHANGELOG.md').replace('## [Unreleased]\n', `$&\n## [${version}] - ${today}\n`),
  );
  run('npm', 'run', 'format');
  run('npm', 'run', 'build:client');
  run('npm', 'pack', '--ignore-scripts', '.', './clients/typescript', '--pack-destination', 'released');
  cpSync(join(ROOT, 'openapi.json'), join(ROOT, `released/openapi-${version}.json`));
  write(`released/sbom-${version}.cdx.json`, billOfMaterials());
  run('git', 'add', '--all');
  const tests = ['src', 'test', 'jest.config.js'];
  const tree = run('git', 'write-tree').trim();
  run('git', 'archive', '--prefix=package/', `--output=released/tests-${version}.tgz`, tree, ...tests);
  run('git', 'add', 'released');
}

function release(version: string, isUnaudited: boolean): void {
  refuse(whyNot(version));
  if (!isUnaudited) execFileSync('npm', ['audit', '--omit=dev'], { cwd: ROOT, stdio: 'inherit' });
  run('npm', 'run', 'openapi');
  if (run('git', 'status', '--porcelain'))
    refuse(['the build writes another document or client than is committed']);
  if (built() !== built()) refuse(['two builds of the same sources have other bytes']);

  keep(version);
  const unaudited = isUnaudited ? '\n\nnpm audit was not asked.' : '';
  run('git', 'commit', '--quiet', '--message', `Release ${version}${unaudited}`);
  run('git', 'tag', `v${version}`);
  const [major, minor] = version.split('.').map(Number) as [number, number];
  const next = `${major}.${minor + 1}.0-dev`;
  setVersion(next);
  run('git', 'commit', '--quiet', '--all', '--message', `Go on to ${next}`);
}

if (import.meta.url === pathToFileURL(process.argv[1]!).href) {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { unaudited: { type: 'boolean', default: false } },
  });
  release(positionals[0] ?? '', values.unaudited);
}
