import { apply, applyTemplates, mergeWith, type Rule, url } from '@angular-devkit/schematics';

export interface ServiceOptions {
  /** Name of its package. */
  name: string;
  /** What its package.json says of this package: a version, or where it is. */
  petstore: string;
  /** The manifest of this package, whose versions its own programs take as well. */
  manifest: {
    dependencies: Record<string, string>;
    devDependencies: Record<string, string>;
    peerDependencies: Record<string, string>;
    allowScripts: Record<string, boolean>;
    overrides: Record<string, unknown>;
  };
}

/** What a service of its own needs to be built, tested and written. */
const DEVELOPMENT = [
  '@nestjs/cli',
  '@swc/core',
  '@swc/jest',
  '@types/express',
  '@types/jest',
  '@types/node',
  'jest',
  'jest-environment-node',
  'prettier',
  'typescript',
];

/** Writes a repository with a service that has no feature of its own yet. */
export function service({ name, petstore, manifest }: ServiceOptions): Rule {
  const { devDependencies, peerDependencies, allowScripts, overrides } = manifest;
  const own = {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    engines: { node: '>=20.19' },
    petstore: { features: 'dist/features.js' },
    scripts: {
      prepare: 'npm run build',
      build: 'nest build',
      start: 'MALLOC_ARENA_MAX=1 exec node dist/main.js',
      dev: 'exec nest start --watch --entryFile main',
      test: 'nest build && petstore openapi && node --experimental-vm-modules --disable-warning=ExperimentalWarning node_modules/jest/bin/jest.js',
      typecheck: 'tsc --noEmit',
      format: 'prettier --write --log-level warn .',
      openapi: 'nest build && petstore openapi',
      'new:feature': 'petstore new:feature',
      migrate: 'petstore migrate',
      admin: 'petstore admin',
      jobs: 'petstore jobs',
    },
    dependencies: { ...peerDependencies, petstore },
    devDependencies: Object.fromEntries(DEVELOPMENT.map((one) => [one, devDependencies[one]])),
    allowScripts,
    overrides: { 'unrs-resolver': overrides['unrs-resolver'] },
  };
  return mergeWith(
    apply(url('./files'), [applyTemplates({ name, dot: '.', json: JSON.stringify(own, null, 2) })]),
  );
}
