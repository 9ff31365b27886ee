import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { withTables } from '../../docs/configuration.ts';
import { Config } from '../../src/config.js';
import { call } from '../../src/testing/client.js';
import { document, isPublic, makes, operations, pathFrom } from '../../src/testing/document.js';
import { isOfProduct } from '../support/product.js';
import { sharedService } from '../../src/testing/service.js';
import { promises } from '../promises.js';

const run = promisify(execFile);

describe('Every route', () => {
  const service = sharedService();
  let routes: string[];

  beforeAll(async () => {
    const lister = fileURLToPath(new URL('../support/list-routes.js', import.meta.url));
    const env = { PATH: process.env.PATH, DATABASE_URL: service.databaseUrl };
    routes = JSON.parse((await run(process.execPath, [lister], { env })).stdout);
  });

  test('with a version is an operation of the document, or its second address', () => {
    const told = operations.flatMap(({ method, path, operation }) => {
      const expressPath = path.replace(/\{(\w+)\}/g, ':$1');
      const addresses = [pathFrom(expressPath), ...(operation.servers ? [expressPath] : [])];
      return addresses.map((address) => `${method} ${address}`);
    });
    const unversioned = /^GET \/(?:$|(?:assets|docs|favicon|guides|health|metrics|openapi|reference)\b)/;
    expect(routes.filter((route) => !unversioned.test(route)).toSorted()).toEqual(
      [...new Set(told)].toSorted(),
    );
  });

  test('is closed, except for the start page, the documents, the guides, Swagger UI, health, metrics and the creation of an account', async () => {
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
    // Below `/docs` are Swagger UI's own files.
    const others = open.filter((route) => !/^GET \/(?:guides|docs)\//.test(route));
    expect([...new Set(others)].toSorted()).toEqual([
      ...['GET /', 'GET /assets/:version/:name', 'GET /docs', 'GET /favicon.ico', 'GET /guides'],
      ...['GET /health/live', 'GET /health/ready', 'GET /metrics', 'GET /openapi.json'],
      ...['GET /openapi.yaml', 'GET /reference', 'POST /v1/accounts'],
    ]);
    const ofGuides = guides.map((name) => `GET /guides/${name.replace('.md', '')}`);
    expect(open.filter((route) => route.startsWith('GET /guides/')).toSorted()).toEqual(ofGuides.toSorted());
  });
});

describe('Every operation', () => {
  const all = operations.map((one) => [one.operation.operationId, one] as const);
  type Owner = { content?: Record<string, { schema: { format?: string } }> } | undefined;
  const mediaOf = (owner: Owner) => Object.values(owner?.content ?? {});
  const typesOf = (owner: Owner) => Object.keys(owner?.content ?? {});

  test('has a unique name, which begins with a verb', () => {
    const names = operations.map(({ operation }) => operation.operationId);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z]+(?:[A-Z][a-z0-9]*)+$/);
  });

  test.each(all)('%s has a summary, one tag with a description, code samples, and examples', (_id, one) => {
    const { summary, tags, parameters = [], requestBody, responses, ...rest } = one.operation;
    expect(summary).toMatch(/^[A-Z]/);
    expect(tags).toHaveLength(1);
    const tag = document.tags.find(({ name }: { name: string }) => name === tags[0]);
    expect(tag.description).toMatch(/\.$/);
    const owners = [requestBody, ...Object.values(responses)] as Owner[];
    // A module adds samples of forms and bytes, and examples of bytes, or does not.
    const isText = owners.flatMap(typesOf).every((type) => /^(?:application\/json|text\/.+)$/.test(type));
    const samples = (rest['x-codeSamples'] ?? []) as { lang: string; source: string }[];
    if (isText) expect(samples.map(({ lang }) => lang)).toEqual(['Shell', 'TypeScript']);
    const hasExample = (media: { schema: { format?: string } }) =>
      'example' in media || 'examples' in media || media.schema.format === 'binary';
    for (const types of owners.map(mediaOf).filter(({ length }) => length > 0))
      expect(types.some(hasExample)).toBe(true);
    for (const parameter of parameters) expect(parameter).toHaveProperty('description');
  });

  test.each(all)(
    '%s has a success, or several, whose body is a named schema, or a text or bytes of another type, and the address of what is new',
    (_id, { method, path, operation: { responses } }) => {
      const successes = Object.entries(responses).filter(([status]) => status < '300');
      expect(successes.length).toBeGreaterThan(0);
      const named = { $ref: expect.stringMatching(/^#\/components\/schemas\/\w+$/) };
      for (const [status, { content = {} }] of successes) {
        expect(Object.keys(content).length > 0).toBe(status !== '204' && status !== '205');
        for (const [type, { schema }] of Object.entries(content))
          if (type === 'application/json') expect(schema).toEqual(named);
          else expect(schema).toMatchObject({ type: 'string' });
      }
      const isFound = operations.some((one) => one.method === 'GET' && one.path.startsWith(`${path}/{`));
      if (method === 'POST' && isFound) expect(successes[0]![1].headers).toHaveProperty('Location');
      if (successes.length > 1 && '201' in responses)
        expect(responses['201'].headers).toHaveProperty('Location');
    },
  );

  test('that takes a key, and changes something, takes an Idempotency-Key', () => {
    const changing = operations.filter(
      ({ method, operation }) => method !== 'GET' && operation.security.some((one) => 'bearerAuth' in one),
    );
    const without = changing.filter(
      ({ operation }) => !operation.parameters?.some(({ name }) => name === 'Idempotency-Key'),
    );
    expect(without.map(({ operation }) => operation.operationId)).toEqual(['revokeCurrentApiKey']);
  });

  test('that changes a resource with an ETag takes If-Match', () => {
    const tagged = operations.filter(({ operation: { responses } }) => {
      const [, { headers = {} }] = Object.entries(responses).find(([status]) => status < '300')!;
      return 'ETag' in headers;
    });
    expect(tagged.length).toBeGreaterThanOrEqual(3);
    const paths = new Set(tagged.map(({ path }) => path));
    for (const { method, path, operation } of operations) {
      if (!paths.has(path) || !/PUT|PATCH|DELETE/.test(method)) continue;
      expect(operation.parameters!.map(({ name }) => name)).toContain('If-Match');
      expect(Object.keys(operation.responses)).toContain('412');
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

const PAGES = globSync(['*.md', 'docs/**/*.md', 'bench/*.md', 'examples/**/*.md']);

const anchorsOf = (page: string) =>
  [...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\d _-]/gu, '')
      .replaceAll(' ', '-'),
  );

test.each(PAGES)('%s names files, and links to files and headings, that exist', (page) => {
  const text = readFileSync(page, 'utf8').replace(/```.*?```/gs, '');
  const named = [
    ...text.matchAll(/`((?:[\w.-]+\/)*(?:[\w.-]+\.(?:ts|md|json|ya?ml|js|conf)|[\w.-]+\/))`/g),
  ].map(([, name]) => name!);
  const tests = ['test/', 'test/platform/', 'test/faults/', 'test/long/', 'test/long/providers/'];
  const places = ['', 'src/', ...tests, 'docs/', 'deploy/'];
  // A name followed by a colon heads the listing of a file that the reader creates.
  const isMade = (name: string) => text.includes(`\`${name}\`:\n`);
  const missing = named.filter((name) => !isMade(name) && !places.some((place) => existsSync(place + name)));
  const links = [...text.matchAll(/\]\(([^)\s:]+)\)/g)].map(([, link]) => link!);
  const broken = links.filter((link) => {
    // An address of the service itself, in a guide.
    if (link.startsWith('/')) return false;
    const [path, anchor] = link.split('#') as [string, string?];
    const file = path ? join(dirname(page), path) : page;
    return !existsSync(file) || (anchor !== undefined && !anchorsOf(file).includes(anchor));
  });
  expect({ missing, broken }).toEqual({ missing: [], broken: [] });
});

test('Each promise of docs/security.md names existing tests', () => {
  const all = promises();
  expect(all.length).toBeGreaterThan(30);
  expect(all.filter(({ missing }) => missing.length > 0)).toEqual([]);
});

test('docs/configuration.md is written from src/config.ts: every variable in a short row', () => {
  const page = readFileSync('docs/configuration.md', 'utf8');
  expect(withTables(page)).toBe(page);
  const cells = page
    .split('\n')
    .flatMap((line) => (line.startsWith('| ') ? line.split('|').slice(1, -1) : []));
  expect(cells.filter((cell) => cell.trim().length > 80)).toEqual([]);
  const names = cells.flatMap((cell) => /^ `([A-Z_]+)` *$/.exec(cell)?.[1] ?? []);
  expect(names.toSorted()).toEqual(Object.keys(new Config()).toSorted());
});
