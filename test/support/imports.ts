import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import ts from 'typescript';
import { ROOT } from './npm.js';

/** The rooms of `src/platform`. Each may import the index.ts of the rooms before it. */
const ROOMS = [
  ...['process', 'telemetry', 'database', 'api', 'data', 'jobs', 'safeguards', 'http', 'features'],
  'docs',
];
/** The product's features, each with what it may import, apart from `FACE` and its own files. */
const FEATURES: Record<string, RegExp[]> = {
  auth: ['telemetry', 'process', 'api', 'data', 'safeguards', 'http'].map(faceOf),
  categories: [/^auth\//],
  messages: [/^auth\//],
  pets: [/^auth\//, /^categories\//],
  store: [/^auth\//, /^categories\//, /^pets\//],
};
const NO_FEATURES = ['platform', 'migrations', 'commands', 'testing'];
/** Every feature may import the platform's `index.ts`; a team's feature may also import the product's face. */
const FACE = /^platform\/index\.ts$/;
const PRODUCT = /^product\.ts$/;
const CONFIG = /^config\.ts$/;
const IN_ROOT = /^[^/]+\.ts$/;
/** What a package of this repository exports. */
const EXPORTED: Record<string, string> = {
  petstore: 'index.ts',
  'petstore/platform': 'platform/index.ts',
  'petstore/product': 'product.ts',
  'petstore/testing': 'testing/index.ts',
};

/** What the files of a folder may import, apart from each other. */
const ALLOWED: Record<string, RegExp[]> = {
  ...Object.fromEntries(ROOMS.map((room, i) => [`platform/${room}/`, ROOMS.slice(0, i).map(faceOf)])),
  ...Object.fromEntries(Object.entries(FEATURES).map(([name, others]) => [`${name}/`, [FACE, ...others]])),
  'commands/': [
    IN_ROOT,
    ...Object.keys(FEATURES).map((name) => new RegExp(`^${name}/`)),
    ...ROOMS.map(faceOf),
  ],
  'testing/': ROOMS.map(faceOf),
};
const OF_OTHER_FEATURES = [new RegExp(`^(?!(?:${NO_FEATURES.join('|')})/)[^/]+/`), FACE, PRODUCT];

function faceOf(room: string): RegExp {
  return new RegExp(`^platform/${room}/index\\.ts$`);
}

/**
 * Wrong imports between files of `src`, also of types, as `from → to`. The linter finds cycles.
 * @param more further files, by their paths in `src`
 */
export function wrongImports(root = ROOT, more: Record<string, string> = {}): string[] {
  const paths = globSync('**/*.ts', { cwd: join(root, 'src') });
  const files = Object.fromEntries(
    paths.map((path) => [path, readFileSync(join(root, 'src', path), 'utf8')]),
  );
  return Object.entries({ ...files, ...more }).flatMap(([from, text]) =>
    importsOf(from, text).flatMap((to) => (isAllowed(from, to) ? [] : [`${from} → ${to}`])),
  );
}

function importsOf(from: string, text: string): string[] {
  return ts.preProcessFile(text).importedFiles.flatMap(({ fileName }) => {
    if (!fileName.startsWith('.')) return EXPORTED[fileName] ?? [];
    const path = posix.join(posix.dirname(from), fileName).replace(/\.js$/, '.ts');
    return path.startsWith('../') ? [] : path;
  });
}

function isAllowed(from: string, to: string): boolean {
  if (CONFIG.test(to)) return true;
  const folder = Object.keys(ALLOWED).find((one) => from.startsWith(one));
  if (folder) return to.startsWith(folder) || ALLOWED[folder]!.some((one) => one.test(to));
  const [, top] = /^([^/]+)\//.exec(from) ?? [];
  if (top && !NO_FEATURES.includes(top)) return OF_OTHER_FEATURES.some((one) => one.test(to));
  return !to.startsWith('testing/');
}
