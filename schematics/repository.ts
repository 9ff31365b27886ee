/** The package.json of this package, whose versions a service uses too. */
export type Manifest = { version: string } & Record<
  'engines' | 'devDependencies' | 'peerDependencies' | 'allowScripts' | 'overrides',
  Record<string, unknown>
>;

const DEVELOPMENT = [
  ...['@nestjs/cli', '@swc/core', '@swc/jest', '@types/express', '@types/jest', '@types/multer'],
  ...['@types/node', 'ajv', 'ajv-formats', 'jest', 'jest-environment-node', 'prettier', 'typescript'],
];

const JEST = "NODE_OPTIONS='--experimental-vm-modules --disable-warning=ExperimentalWarning' jest";

/** The files of a repository with a service, without features of its own. */
export function repositoryFiles(name: string, manifest: Manifest): Map<string, string> {
  const { version, engines, devDependencies, peerDependencies, allowScripts, overrides } = manifest;
  const hint = 'Building needs the development packages: npm ci --include=dev';
  const packageJson = {
    ...{ name, version: '0.1.0', private: true, type: 'module', engines },
    petstore: { features: 'dist/features.js' },
    scripts: {
      prepare: 'npm run build',
      // In a workspace, npm installs packages in a parent folder.
      prebuild: `node -e "try { require.resolve('@nestjs/cli/package.json') } catch { console.error('${hint}'); process.exit(1) }"`,
      build: 'nest build',
      start: 'MALLOC_ARENA_MAX=1 exec node dist/main.js',
      'start:dev': 'exec nest start --watch --entryFile main',
      'start:debug': 'exec nest start --debug --watch --entryFile main',
      'start:prod': 'MALLOC_ARENA_MAX=1 exec node dist/main.js',
      test: `npm run openapi && ${JEST}`,
      'test:watch': `npm run openapi && ${JEST} --watch`,
      'test:cov': `npm run openapi && ${JEST} --coverage`,
      typecheck: 'tsc --noEmit',
      format: 'prettier --write --log-level warn .',
      openapi: 'npm run build && petstore openapi',
      'new:feature': 'petstore new:feature',
      migrate: 'petstore migrate',
      admin: 'petstore admin',
      jobs: 'petstore jobs',
      doctor: 'petstore doctor',
    },
    dependencies: { ...peerDependencies, petstore: `file:vendor/petstore-${version}.tgz` },
    devDependencies: Object.fromEntries(DEVELOPMENT.map((tool) => [tool, devDependencies[tool]])),
    ...{ allowScripts, overrides: { 'unrs-resolver': overrides['unrs-resolver'] } },
  };
  return new Map(
    Object.entries({ 'package.json': json(packageJson), 'README.md': `# ${name}\n\n${README}`, ...FILES }),
  );
}

const json = (value: object) => `${JSON.stringify(value, null, 2)}\n`;

const README = `A service with all that the pet store has, and the features in \`src\`.

- \`npm ci && npm start\` runs it on a PostgreSQL of its own in \`./data\`, and says where; \`DATABASE_URL\` names another
  server. \`npm run start:dev\` runs it again after each change of \`src\`.
- \`npm run new:feature -- <plural> [--owned]\` adds a feature: table, routes, documentation, test. \`npm run openapi\`
  writes \`openapi.json\`, which the tests compare the answers with.
- \`npm test\` tests it, on a PostgreSQL of its own; \`.ci/run\` does all that a change must pass.
- The pet store is in \`vendor\`. A later release: copy its file there, \`npm install ./vendor/petstore-<version>.tgz\`, and
  remove the old one. Its migrations run at the next start, or by \`npm run migrate\`.
`;

const TYPESCRIPT = { syntax: 'typescript', decorators: true };
const DECORATORS = { legacyDecorator: true, decoratorMetadata: true };

const FILES = {
  '.ci/run': `#!/usr/bin/env bash
# Everything that a change must pass, from a clean clone.
set -euo pipefail
cd "$(dirname "$0")/.."
npm ci --include=dev
npx prettier --check --log-level warn .
npm run typecheck
npm test
# The document is part of a change.
git diff --exit-code openapi.json
`,
  Dockerfile: `FROM docker.io/library/node:26.10.0-trixie-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY vendor vendor
# The image has Node: no install script is needed, and the embedded PostgreSQL stays out.
RUN npm ci --omit=optional --ignore-scripts
COPY nest-cli.json tsconfig.json tsconfig.build.json ./
COPY src src
RUN npm run build && npm prune --omit=dev --omit=optional --ignore-scripts

FROM docker.io/library/node:26.10.0-trixie-slim
ENV NODE_ENV=production MALLOC_ARENA_MAX=1
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/package.json ./
USER 1000:1000
EXPOSE 3000
ENTRYPOINT ["node"]
CMD ["dist/main.js"]
`,
  '.dockerignore': 'node_modules\ndist\ndata\n.env\n',
  '.gitattributes': '* text=auto eol=lf\n',
  '.gitignore': 'node_modules/\ndist/\n/data/\ncoverage/\n.env\n',
  '.npmrc': `# With an older Node, npm would warn of every package's engines; the scripts run on the Node that comes with them.
loglevel=error
fund=false
audit=false
save-exact=true
`,
  '.prettierignore': 'package-lock.json\nopenapi.json\n',
  '.prettierrc.json': '{ "singleQuote": true, "trailingComma": "all", "printWidth": 110 }\n',
  'jest.config.js': `/** @type {import('jest').Config} */\nexport default ${json({
    ...{ globalSetup: 'petstore/testing/setup', globalTeardown: 'petstore/testing/teardown' },
    ...{ testEnvironment: 'petstore/testing/environment', testTimeout: 120_000 },
    testRegex: ['/test/.+\\.test\\.ts$', '/src/.+\\.spec\\.ts$'],
    ...{ roots: ['<rootDir>/src', '<rootDir>/test'] },
    ...{ extensionsToTreatAsEsm: ['.ts'], moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' } },
    transform: {
      '\\.ts$': ['@swc/jest', { jsc: { target: 'es2024', parser: TYPESCRIPT, transform: DECORATORS } }],
    },
  })}`,
  'nest-cli.json': json({
    ...{ collection: '@nestjs/schematics', sourceRoot: 'src', generateOptions: { spec: false } },
    compilerOptions: { deleteOutDir: true, tsConfigPath: 'tsconfig.build.json' },
  }),
  'tsconfig.json': json({
    compilerOptions: {
      ...{ target: 'es2024', lib: ['esnext'], module: 'nodenext', skipLibCheck: true },
      types: ['node', 'jest', 'multer'],
      ...{ rootDir: '.', outDir: 'dist', sourceMap: true, strict: true, noImplicitOverride: true },
      ...{ noUncheckedIndexedAccess: true, noUnusedLocals: true, noUnusedParameters: true },
      ...{ experimentalDecorators: true, emitDecoratorMetadata: true },
    },
    include: ['src', 'test'],
  }),
  'tsconfig.build.json': json({
    extends: './tsconfig.json',
    // The methods of `nest generate resource` do not use their parameters.
    compilerOptions: { rootDir: 'src', types: ['node', 'multer'], noUnusedParameters: false },
    ...{ include: ['src'], exclude: ['**/*.spec.ts'] },
  }),
  'src/app.module.ts': `import { Module } from '@nestjs/common';

/** Where \`nest generate\` adds modules. Features are in \`features.ts\`. */
@Module({})
export class AppModule {}
`,
  'src/features.ts': `import { AppModule } from './app.module.js';

/** The features that this service adds to those of the pet store. */
export const FEATURES = [
  // In the order that they have in the OpenAPI document.
  AppModule,
];
`,
  'src/main.ts': `import { startPetstore } from 'petstore';

await startPetstore({ features: async () => (await import('./features.js')).FEATURES });
`,
  'test/contract.test.ts': `import { testEveryOperation } from 'petstore/testing';

testEveryOperation();
`,
};
