import { execFile, spawn } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { getMetadataStorage } from 'class-validator';
import ts from 'typescript';
import { Config } from '../src/config.js';
import { call } from '../src/testing/client.js';
import {
  document,
  isOfProduct,
  isPublic,
  makes,
  operations,
  pathFrom,
  type Placed,
} from '../src/testing/document.js';
import { faceOf } from './support/face.js';
import { Checkout } from './support/checkout.js';
import { eventually, isServed, ROOT, signalIfThere } from './support/npm.js';
import { query, type Service, startService } from '../src/testing/service.js';

const run = promisify(execFile);

describe('Every route', () => {
  let service: Service;
  let routes: string[];

  beforeAll(async () => {
    service = await startService();
    const lister = fileURLToPath(new URL('./support/list-routes.js', import.meta.url));
    const env = { PATH: process.env.PATH, DATABASE_URL: service.databaseUrl };
    routes = JSON.parse((await run(process.execPath, [lister], { env })).stdout);
  });
  afterAll(() => service.stop());

  test('with a version is an operation of the document, or the other address of one', () => {
    const told = operations.flatMap(({ method, path, operation }) => {
      const expressPath = path.replace(/\{(\w+)\}/g, ':$1');
      const addresses = [pathFrom(expressPath), ...(operation.servers ? [expressPath] : [])];
      return addresses.map((address) => `${method} ${address}`);
    });
    const unversioned = /^GET \/(?:$|(?:assets|docs|favicon|guides|health|metrics|openapi|search)\b)/;
    expect(routes.filter((route) => !unversioned.test(route)).toSorted()).toEqual(
      [...new Set(told)].toSorted(),
    );
  });

  test('is closed, except for the front door, the documents, the guides, Swagger UI, health, metrics and the creation of an account', async () => {
    const open: string[] = [];
    // A feature that was added may open what its document says is open.
    const opened = new Set(
      operations
        .filter((one) => isPublic(one) && !isOfProduct(one))
        .map(({ method, path }) => `${method} ${pathFrom(path).replace(/\{(\w+)\}/g, ':$1')}`),
    );
    for (const route of routes) {
      const [method, path] = route.split(' ') as [string, string];
      const { status } = await call(service, method, path.replace(/:\w+/g, '1'));
      if (status !== 401 && !opened.has(route)) open.push(route);
    }
    const guides = globSync('*.md', { cwd: 'docs/guides', exclude: ['README.md'] });
    expect(open.filter((route) => !route.startsWith('GET /guides/')).toSorted()).toEqual([
      'GET /',
      'GET /assets/:version/:name',
      'GET /docs',
      'GET /favicon.ico',
      'GET /guides',
      'GET /health/live',
      'GET /health/ready',
      'GET /metrics',
      'GET /openapi.json',
      'GET /openapi.yaml',
      'GET /search.json',
      'POST /v1/accounts',
    ]);
    const ofGuides = guides.map((name) => `GET /guides/${name.replace('.md', '')}`);
    expect(open.filter((route) => route.startsWith('GET /guides/')).toSorted()).toEqual(ofGuides.toSorted());
  });
});

describe('Every operation', () => {
  const all = operations.map((one) => [one.operation.operationId, one] as const);
  const mediaOf = (owner?: { content?: Record<string, { schema: object }> }) =>
    Object.values(owner?.content ?? {});

  test('has a unique name, which begins with a verb', () => {
    const names = operations.map(({ operation }) => operation.operationId);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z]+(?:[A-Z][a-z0-9]+)+$/);
  });

  test.each(all)(
    '%s has a summary, one tag with a description, and code samples',
    (_id, { operation: { summary, tags, ...rest } }) => {
      expect(summary).toMatch(/^[A-Z]/);
      expect(tags).toHaveLength(1);
      const tag = document.tags.find(({ name }: { name: string }) => name === tags[0]);
      expect(tag.description).toMatch(/\.$/);
      const samples = rest['x-codeSamples'] as { lang: string; source: string }[];
      expect(samples.map(({ lang }) => lang)).toEqual(['Shell', 'TypeScript', 'Python']);
    },
  );

  test.each(all)('%s declares its stability, unless it is stable', (_id, { operation }) => {
    expect([undefined, 'beta', 'experimental']).toContain(operation['x-stability']);
  });

  test.each(all)(
    '%s has a success, or several, whose body is a named schema',
    (_id, { operation: { responses } }) => {
      const successes = Object.entries(responses).filter(([status]) => status < '300');
      expect(successes.length).toBeGreaterThan(0);
      const named = { $ref: expect.stringMatching(/^#\/components\/schemas\/\w+$/) };
      for (const [status, success] of successes)
        expect(mediaOf(success).map(({ schema }) => schema)).toEqual(status === '204' ? [] : [named]);
      if (successes.length > 1 && '201' in responses)
        expect(responses['201'].headers).toHaveProperty('Location');
    },
  );

  test.each(
    all.filter(([, { method, path }]) =>
      operations.some((one) => method === 'POST' && one.method === 'GET' && one.path.startsWith(`${path}/{`)),
    ),
  )('%s says where to find what it has created', (_id, { operation: { responses } }) => {
    expect(Object.values(responses)[0]!.headers).toHaveProperty('Location');
  });

  test('that takes a key, and changes something, takes an Idempotency-Key', () => {
    const changing = operations.filter(
      ({ method, operation }) => method !== 'GET' && operation.security.some((one) => 'bearerAuth' in one),
    );
    const without = changing.filter(
      ({ operation }) => !operation.parameters?.some(({ name }) => name === 'Idempotency-Key'),
    );
    expect(without.map(({ operation }) => operation.operationId)).toEqual(['revokeCurrentApiKey']);
  });

  test('on what has an ETag lets a change ask for it', () => {
    const headersOf = ({ operation }: Placed) =>
      Object.entries(operation.responses).find(([status]) => status < '300')![1].headers;
    const tagged = operations.filter((one) => 'ETag' in headersOf(one)!);
    expect(tagged.length).toBeGreaterThanOrEqual(3);
    for (const { path } of tagged) {
      for (const { operation } of operations.filter(
        (one) => one.path === path && /PUT|PATCH|DELETE/.test(one.method),
      )) {
        expect(operation.parameters!.map(({ name }) => name)).toContain('If-Match');
        expect(Object.keys(operation.responses)).toContain('412');
      }
    }
  });

  test.each(all)('%s documents the errors that follow from its shape, all in one schema', (_id, one) => {
    const { path, operation } = one;
    const { responses, security, requestBody, parameters = [] } = operation;
    const expected = ['400', '408', '417', '429', '431', '500', '503'];
    if (security.length > 0) expected.push('401');
    if (security.some(({ bearerAuth }) => bearerAuth?.length)) expected.push('403');
    // Whatever a client names is there once it was put, unless that is below something else.
    const named = path.split('{').length - 1;
    if (named > (one.method === 'PUT' && makes(one) ? 1 : 0)) expected.push('404');
    if (requestBody) expected.push('413', '415');
    if (parameters.some(({ name }) => name === 'Idempotency-Key')) expected.push('409', '422');
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(expected));
    for (const [status, response] of Object.entries(responses)) {
      if (status < '400') continue;
      expect(mediaOf(response)[0]!.schema).toEqual({ $ref: '#/components/schemas/Error' });
    }
  });

  test.each(all)('%s has an example of every body, and describes every parameter', (_id, { operation }) => {
    const bodies = [operation.requestBody, ...Object.values(operation.responses)].flatMap(mediaOf);
    for (const media of bodies) expect('example' in media || 'examples' in media).toBe(true);
    for (const parameter of operation.parameters ?? []) expect(parameter).toHaveProperty('description');
  });

  test.each(all.filter(([, { operation }]) => operation.operationId.startsWith('list')))(
    '%s comes in pages',
    (_id, { operation: { parameters = [], responses } }) => {
      const byName = new Map(parameters.map((one) => [one.name, one]));
      expect(byName.get('limit')!.schema).toMatchObject({ minimum: 1, maximum: 100, default: 20 });
      expect(byName.has('cursor')).toBe(true);
      expect(responses[200]!.headers).toHaveProperty('Link');
    },
  );
});

test('What a test has started ends with its file, also where it has failed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-left-'));
  const told = join(folder, 'pid');
  writeFileSync(
    join(folder, 'left.test.js'),
    `const { spawn } = require('node:child_process');
     beforeAll(() => {
       const child = spawn('sh', ['-c', 'sleep 100 & echo $! > ${told}; wait'], { stdio: 'pipe' });
       return new Promise((_resolve, reject) => setTimeout(reject, 500, new Error('no')));
     });
     test('is not reached', () => {});`,
  );
  const testEnvironment = fileURLToPath(new URL('../dist/src/testing/environment.js', import.meta.url));
  const config = JSON.stringify({ rootDir: folder, testEnvironment });
  const args = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--config', config];
  // A run that waited for it would be ended by a signal.
  await expect(run(process.execPath, args, { timeout: 40_000 })).rejects.toMatchObject({ code: 1 });
  const pid = Number(readFileSync(told, 'utf8'));
  await eventually(() => !signalIfThere(pid, 0));
  rmSync(folder, { recursive: true });
});

test('What a test has started ends soon after a run that is killed, its PostgreSQL too', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-killed-'));
  const told = join(folder, 'told');
  const file = join(ROOT, 'test', `killed-${process.pid}.test.ts`);
  writeFileSync(
    file,
    `import { writeFileSync } from 'node:fs';
     import { startService } from '../src/testing/service.js';
     test('is killed', async () => {
       const { process: child, url, databaseUrl } = await startService({ WORKERS: '2' });
       writeFileSync(${JSON.stringify(told)}, JSON.stringify({ pid: child.pid, url, databaseUrl }));
       await new Promise(() => {});
     });`,
  );
  const args = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--runTestsByPath', file];
  const env = { ...process.env, TEST_SERVER_URL: undefined };
  const killed = spawn(process.execPath, args, { cwd: ROOT, env, stdio: 'ignore' });
  await eventually(() => existsSync(told), 60_000).finally(() => rmSync(file));
  const { pid, url, databaseUrl } = JSON.parse(readFileSync(told, 'utf8'));
  killed.kill('SIGKILL');
  await eventually(() => !signalIfThere(pid, 0));
  await eventually(async () => !(await isServed(url)));
  await eventually(() =>
    query(databaseUrl, 'SELECT').then(
      () => false,
      () => true,
    ),
  );
  rmSync(folder, { recursive: true });
});

describe('The linters', () => {
  let checkout: Checkout;
  beforeAll(() => (checkout = Checkout.copy()));
  afterAll(() => checkout.remove());

  test('refuse upward imports, of every room of the platform, of existing features and of new ones', async () => {
    const wrong = [
      ['platform/process', 'platform/telemetry/log'],
      ['platform/telemetry', 'platform/api/api-error'],
      ['platform/api', 'platform/data/shape'],
      ['platform/data', 'platform/database/connections'],
      ['platform/server', 'platform/index'],
      ['platform/database', 'platform/safeguards/limiter'],
      ['platform/data', 'platform/safeguards/idempotency.service'],
      ['platform/data', 'platform/jobs/jobs'],
      ['platform/jobs', 'platform/safeguards/limiter'],
      ['platform/safeguards', 'platform/server/json'],
      ['platform/server', 'platform/docs/openapi/document'],
      ['platform/docs', 'commands/command'],
      ['platform/docs', 'pets/pets.module'],
      ['auth', 'platform/server/json'],
      ['categories', 'pets/pets.service'],
      ['pets', 'store/order.entity'],
      ['messages', 'store/orders.service'],
      ['messages', 'platform/database/connections'],
      ['store', 'messages/message.entity'],
      ['pets', 'newcomers/newcomers.service'],
      ['platform/server', 'newcomers/newcomers.service'],
      ['newcomers', 'platform/server/json'],
      ['newcomers', 'platform/api/index'],
      ['pets', 'platform/data/fast-repository'],
      ['newcomers', 'commands/command'],
      ['newcomers', 'app.module'],
      ['newcomers', 'testing/service'],
      ['commands', 'testing/service'],
      ['testing', 'platform/api/fields'],
      ['testing', 'pets/pets.service'],
    ] as const;
    checkout.write('src/newcomers/newcomers.service.ts', 'export const none = 0;\n');
    for (const [i, [folder, target]] of wrong.entries()) {
      const path = relative(folder, target);
      checkout.write(`src/${folder}/wrong-${i}.ts`, `export * from '${path}.js';\n`);
    }
    const { code, output } = await checkout.depcruise();
    for (const [i, [folder]] of wrong.entries()) checkout.removeFile(`src/${folder}/wrong-${i}.ts`);
    const reported = [...output.matchAll(/error .*?: src\/.+\/wrong-(\d+)\.ts → /g)];
    expect(new Set(reported.map(([, i]) => wrong[Number(i)]))).toEqual(new Set(wrong));
    expect(code).toBe(wrong.length);
  });

  test('refuse a circle, though it be one of types', async () => {
    checkout.write('src/newcomers/one.ts', "export type { Two } from './two.js';\nexport type One = 1;\n");
    checkout.write('src/newcomers/two.ts', "export type { One } from './one.js';\nexport type Two = 2;\n");
    const { code, output } = await checkout.depcruise();
    for (const name of ['one', 'two']) checkout.removeFile(`src/newcomers/${name}.ts`);
    expect(code).toBeGreaterThan(0);
    expect(output).toMatch(/error circles: .*newcomers/);
  });

  test('let a new feature import the face of the platform, and other features', async () => {
    const targets = ['../pets/pets.service.js', '../config.js', 'petstore/platform', 'petstore/product'];
    const lines = targets.map((target) => `export * from '${target}';\n`);
    checkout.write('src/newcomers/right.ts', lines.join(''));
    expect(await checkout.depcruise()).toMatchObject({ code: 0 });
  });

  test('refuse a look at the environment', async () => {
    checkout.write('src/pets/wrong.ts', 'export const port = process.env.PORT;\n');
    const { code, output } = await checkout.node('node_modules/oxlint/bin/oxlint', 'src/pets/wrong.ts');
    checkout.removeFile('src/pets/wrong.ts');
    expect([code, output]).toEqual([1, expect.stringContaining('(no-process-env)')]);
  });
});

test('The guide for modules explains every name that they may use of the platform', () => {
  const read = (path: string) => readFileSync(path, 'utf8');
  const first = read('docs/extending.md');
  const pages = [...first.matchAll(/\]\(([\w-]+\.md)/g)].map(([, page]) => read(`docs/${page}`));
  const [guide, face] = [[first, ...pages].join(''), read('src/platform/index.ts')];
  const names = [...face.matchAll(/^export \{([^}]+)\}/gm)].flatMap(([, exported]) =>
    exported!.split(',').map((name) => name.trim().replace('type ', '')),
  );
  const explained = names.filter((name) => name !== '' && new RegExp(`\\b${name}\\b`).test(guide));
  expect(explained).toEqual(names.filter((name) => name !== ''));
  expect(names.length).toBeGreaterThan(50);
});

test('What takes the place of a text is a literal or comes from a function: `$` in any other may be a pattern', () => {
  const wrong: string[] = [];
  const files = globSync([
    'src/**/*.{ts,js}',
    'clients/typescript/src/*.ts',
    'examples/**/*.ts',
    'schematics/**/*.ts',
  ]);
  expect(files.length).toBeGreaterThan(200);
  for (const file of files) {
    const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
    const look = (node: ts.Node): void => {
      const replacement = replacementIn(node);
      if (replacement && !ts.isArrowFunction(replacement) && !ts.isStringLiteralLike(replacement))
        wrong.push(`${file}: ${replacement.getText(source)}`);
      ts.forEachChild(node, look);
    };
    look(source);
  }
  expect(wrong).toEqual([]);
});

/** What a call of `replace` or `replaceAll` puts in the place of something, if a node is one. */
function replacementIn(node: ts.Node): ts.Expression | undefined {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
  const { expression, name } = node.expression;
  const isOfText = /^replace(?:All)?$/.test(name.text) && expression.kind !== ts.SyntaxKind.ThisKeyword;
  return isOfText ? node.arguments[1] : undefined;
}

test.each(globSync(['*.md', 'docs/**/*.md', 'bench/*.md', 'examples/**/*.md']))(
  '%s names no file that does not exist',
  (page) => {
    const text = readFileSync(page, 'utf8').replace(/```.*?```/gs, '');
    const named = [
      ...text.matchAll(/`((?:[\w.-]+\/)*(?:[\w.-]+\.(?:ts|md|json|ya?ml|js|conf)|[\w.-]+\/))`/g),
    ].map(([, name]) => name!);
    const places = ['', 'src/', 'test/', 'docs/', 'deploy/'];
    // A name followed by a colon heads the listing of a file that the reader creates.
    const isMade = (name: string) => text.includes(`\`${name}\`:\n`);
    const missing = named.filter(
      (name) => !isMade(name) && !places.some((place) => existsSync(place + name)),
    );
    expect(missing).toEqual([]);
  },
);

test('docs/security.md names no test that does not exist', () => {
  const text = readFileSync('docs/security.md', 'utf8');
  const named = [...text.matchAll(/`([\w-]+\.test\.ts)` "([^"]+?)(?: …)?"/g)];
  expect(named.length).toBeGreaterThan(40);
  const missing = named.filter(([, file, name]) => !readFileSync(`test/${file}`, 'utf8').includes(name!));
  expect(missing.map(([all]) => all)).toEqual([]);
});

test('The configuration table of the README has every variable, and the bounds of every number', () => {
  const rows = readFileSync('README.md', 'utf8').split('\n');
  const bounds = new Map<string, { min?: number; max?: number }>();
  for (const { propertyName, name, constraints } of getMetadataStorage().getTargetValidationMetadatas(
    Config,
    '',
    false,
    false,
  ))
    if (name === 'min' || name === 'max')
      bounds.set(propertyName, { ...bounds.get(propertyName), [name]: constraints[0] });
  expect(bounds.size).toBeGreaterThan(10);
  for (const variable of Object.keys(new Config())) {
    const row = rows.find((line) => line.split('|')[1]?.includes(`\`${variable}\``));
    const { min, max } = bounds.get(variable) ?? {};
    const told = max === undefined ? '' : `${min} to ${max.toLocaleString('en')}`;
    expect({ variable, row }).toEqual({ variable, row: expect.stringContaining(told) });
  }
});

test.each(['platform/index.d.ts', 'product.d.ts', 'testing/index.d.ts'])(
  'What teams compile against changes only knowingly: %s',
  (entry) => {
    const kept = join(ROOT, 'released/faces', entry.replace('/index', '').replace('.d.ts', '.txt'));
    const face = faceOf(entry);
    // `UPDATE_FACES=1 npm test -- house` writes them, for a change that breaks no feature (docs/versioning.md).
    if (process.env.UPDATE_FACES) writeFileSync(kept, face);
    expect(face).toBe(readFileSync(kept, 'utf8'));
  },
);
