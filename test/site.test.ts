import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { type IncomingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { call, expectError } from '../src/testing/client.js';
import { type Service, startService } from '../src/testing/service.js';
import { newSecret, STARTS } from '../src/auth/secret.js';

const run = promisify(execFile);

/** On its embedded database, and on all addresses. */
let embedded: Service;
/** On a database of its own. */
let hosted: Service;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'petstore-site-'));
  const onOwnDatabase = {
    DATABASE_URL: '',
    DATA_DIR: folder,
    HOST: '',
  };
  [embedded, hosted] = await Promise.all([startService(onOwnDatabase), startService()]);
});
afterAll(async () => {
  await Promise.all([embedded.stop(), hosted.stop()]);
  await rm(folder, { recursive: true, force: true });
});

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** What every page has, value by value: its own files run there alone, and no other page may read, frame or open it. */
const PAGE_HEADERS = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'content-type': 'text/html; charset=utf-8',
  'x-content-type-options': 'nosniff',
};
/** What belongs to one answer, or to the connection. */
const OF_ITS_OWN = [
  'connection',
  'content-length',
  'date',
  'etag',
  'keep-alive',
  'link',
  'vary',
  'x-request-id',
];

describe('The pages', () => {
  test.each<[string, number]>([
    ['/', 200],
    ['/docs', 200],
    ['/guides', 200],
    ['/guides/errors', 200],
    ['/nowhere', 404],
    ['/docs/nothing', 404],
    ['/guides/nothing', 404],
  ])('%s has these headers and no others', async (path, status) => {
    for (const method of ['GET', 'HEAD']) {
      if (method === 'HEAD' && status === 404) continue;
      for (const service of [hosted, embedded]) {
        const answer = await fetchRaw(service, method, path, { accept: 'text/html' });
        const { headers } = answer;
        for (const name of OF_ITS_OWN) delete headers[name];
        expect([answer.status, headers]).toEqual([status, PAGE_HEADERS]);
      }
    }
  });

  test('have the same headers where the browser has them already', async () => {
    for (const path of ['/', '/docs', '/guides', '/guides/errors']) {
      const { headers } = await fetchRaw(hosted, 'GET', path, {});
      const known = await fetchRaw(hosted, 'GET', path, { 'if-none-match': headers.etag! });
      const { 'content-type': _type, ...others } = PAGE_HEADERS;
      expect(known).toMatchObject({ status: 304, headers: others });
    }
  });

  test('have files that no other site can load, in every state', async () => {
    const version = await versionOfAssets();
    for (const name of ['docs.js', 'site.css', 'favicon.svg']) {
      const path = `/assets/${version}/${name}`;
      const { headers } = await fetchRaw(hosted, 'GET', path, {});
      const known = await fetchRaw(hosted, 'GET', path, { 'if-none-match': headers.etag! });
      for (const answer of [headers, known.headers]) {
        expect(answer['cross-origin-resource-policy']).toBe('same-origin');
        expect(answer['x-content-type-options']).toBe('nosniff');
      }
    }
  });

  test.each(['/', '/docs', '/guides', '/guides/errors'])(
    '%s runs and shows nothing but its own files',
    async (path) => {
      const { status, headers, text } = await call(hosted, 'GET', path);
      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(headers.get('content-security-policy')).toBe(POLICY);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(text).not.toMatch(
        /<style|style=|<script(?![^>]* src="(?:\.\.\/)*assets\/)|\son\w+=|<(?!a )[^>]*"https?:/,
      );
    },
  );

  test('let Swagger UI call the addresses of the configuration, and no others', async () => {
    const other = await startService({
      DATABASE_URL: hosted.databaseUrl,
      BASE_URL: 'https://api.example.com/v1',
      API_URL: 'https://messages.example.com',
    });
    const { headers } = await call(other, 'GET', '/docs');
    await other.stop();
    expect(headers.get('content-security-policy')).toContain(
      "connect-src 'self' https://api.example.com https://messages.example.com; ",
    );
  });

  test('have files that a browser keeps for a year, under addresses that change with them', async () => {
    const version = await versionOfAssets();
    const names = ['swagger-ui-bundle.js', 'docs.css', 'minisearch.js', 'docs.js', 'site.css'];
    for (const name of [...names, 'favicon.svg']) {
      const cacheControl = async (path: string) => {
        const { status, headers } = await call(hosted, 'GET', path);
        return [status, headers.get('cache-control')];
      };
      const forEver = 'public, max-age=31536000, immutable';
      expect(await cacheControl(`/assets/${version}/${name}`)).toEqual([200, forEver]);
      expect(await cacheControl(`/assets/0123456789abcdef/${name}`)).toEqual([200, 'no-cache']);
    }
  });

  test('ask at once for every file that their scripts ask for in turn', async () => {
    const { text } = await call(hosted, 'GET', '/docs');
    const preloaded = [...text.matchAll(/modulepreload" href="assets\/\w+\/([^"]+)"/g)].map(
      ([, name]) => name!,
    );
    const needed = new Set<string>();
    for (const name of ['docs.js', ...preloaded]) {
      const { text: source } = await call(hosted, 'GET', `/assets/x/${name}`);
      for (const [, imported] of source.matchAll(/from '\.\/(.+)'/g)) needed.add(imported!);
    }
    expect(preloaded.toSorted()).toEqual([...needed].toSorted());
  });

  test('has all that sends a request in the document of the panels, and nothing to resolve', async () => {
    const { text, body: trial } = await call(hosted, 'GET', '/docs/trial.json');
    const { body: document } = await call(hosted, 'GET', '/openapi.json');
    expect(text).not.toMatch(/"\$ref"|here\.invalid/);
    expect(text.length).toBeLessThan(JSON.stringify(document).length / 4);
    expect(trial.components.securitySchemes).toEqual(document.components.securitySchemes);
    expect(Object.keys(trial.paths)).toEqual(Object.keys(document.paths));
    for (const [path, item] of Object.entries<Record<string, any>>(document.paths))
      for (const [method, operation] of Object.entries(item)) {
        const panel = trial.paths[path][method];
        const places = (all: { name: string; in: string }[] = []) => all.map((one) => [one.name, one.in]);
        expect(places(panel.parameters)).toEqual(places(operation.parameters));
        expect(panel.security).toEqual(operation.security);
        expect(Object.keys(panel.responses)).toEqual(Object.keys(operation.responses));
        for (const type of Object.keys(operation.requestBody?.content ?? {}))
          expect(panel.requestBody.content[type].example).toEqual(
            operation.requestBody.content[type].example,
          );
        for (const { name, required, schema } of panel.parameters)
          expect([name, 'example' in schema]).toEqual([name, required ?? false]);
      }
    const status = trial.paths['/pets'].get.parameters.find(
      ({ name }: { name: string }) => name === 'status',
    );
    expect(status.schema.enum).toEqual(['available', 'pending', 'sold']);
    const [, change] = trial.paths['/store/orders'].post['x-next'];
    expect(change).toMatchObject({
      place: '/store/updateOrder',
      states: { status: { placed: 'approved', approved: 'delivered' } },
    });
    const made = { name: 'petId', bodies: [{ path: '/store/orders', method: 'post' }] };
    expect(trial.paths['/pets'].post['x-made']).toEqual(made);
    const deletion = trial.paths['/api-keys/{keyId}'].delete;
    expect([deletion['x-answers'], trial.paths['/pets'].post['x-answers']]).toEqual(['nothing', undefined]);
  });

  test.each(['docs.html', 'bar.html', 'package.json', 'swagger-ui.js', '..%2fassets.js', ''])(
    'do not serve %s among their files',
    async (name) => {
      expectError(await call(hosted, 'GET', `/assets/x/${name}`), 404, 'route_not_found');
    },
  );

  test('have their icon where browsers look for one unasked', async () => {
    const { status, headers } = await call(hosted, 'GET', '/favicon.ico');
    expect([status, headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
  });

  test.each(['/docs', '/guides', '/guides/errors'])(
    '%s is found with a slash at the end too',
    async (path) => {
      const { status, headers } = await call(hosted, 'GET', `${path}/`);
      expect(new URL(headers.get('location')!, `${hosted.url}${path}/`).pathname).toBe(path);
      expect(status).toBe(308);
    },
  );
});

describe('An unknown address', () => {
  const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

  test.each([
    '/nowhere',
    '/nowhere/at/all',
    '/nowhere/',
    '//nowhere',
    '/guides/nothing',
    '/guides/README',
    '/docs/nothing',
  ])('shows a browser a page with the ways in: %s', async (path) => {
    const { status, headers, body } = await fetchRaw(hosted, 'GET', path, { accept: BROWSER });
    expect([status, headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    expect([headers['cache-control'], headers['content-security-policy']]).toEqual(['no-store', POLICY]);
    expect(headers['x-request-id']).toBeDefined();
    expect(headers.link).toBe(`<${hosted.url}/guides/errors#route_not_found>; rel="help"`);
    const links = [...body.toString().matchAll(/(?:href|src)="([^"#]+)"/g)].map(
      ([, to]) => new URL(to!, hosted.url + path).pathname,
    );
    expect(links).toEqual(expect.arrayContaining(['/', '/docs', '/guides']));
    for (const to of new Set(links)) expect((await call(hosted, 'GET', to)).status).toBe(200);
  });

  test('has no page that grows with it', async () => {
    const { body } = await fetchRaw(hosted, 'GET', '/a'.repeat(5_000), { accept: BROWSER });
    expect(body.length).toBeLessThan(5_000);
    expect(body.toString()).toContain('href="/guides"');
  });

  test.each([
    ['GET', '/nowhere', '*/*'],
    ['GET', '/nowhere', 'application/json'],
    ['GET', '/nowhere', 'application/json, text/html'],
    ['GET', '/nowhere', 'text/html;q=0.5, application/json'],
    ['POST', '/nowhere', BROWSER],
    ['GET', '/v1/nowhere', BROWSER],
    ['GET', '/v2', BROWSER],
    ['GET', '/v1/pets/x/y', BROWSER],
  ])('is an Error for everyone else: %s %s, %s', async (method, path, accept) => {
    expectError(await call(hosted, method, path, { headers: { Accept: accept } }), 404, 'route_not_found');
  });

  test('is told from one that is known with another method', async () => {
    const headers = { Accept: BROWSER };
    expectError(await call(hosted, 'GET', '/messages', { headers }), 405, 'method_not_allowed');
  });
});

describe('The files of the pages, and the OpenAPI document,', () => {
  const DECODERS: Record<string, (bytes: Buffer) => Buffer> = {
    br: brotliDecompressSync,
    gzip: gunzipSync,
    identity: (bytes) => bytes,
  };
  let paths: string[];
  beforeAll(async () => {
    paths = [
      '/openapi.json',
      '/openapi.yaml',
      `/assets/${await versionOfAssets()}/swagger-ui-bundle.js`,
      '/docs',
      '/guides',
      '/guides/errors',
      '/search.json',
      '/docs/trial.json',
    ];
  });

  test('are sent in the smallest coding that the client accepts', async () => {
    const asked = { 'gzip, deflate, br': 'br', 'gzip, br;q=0': 'gzip', deflate: 'identity', '': 'identity' };
    for (const path of paths) {
      const seen = new Map<string, Raw>();
      for (const [accepted, coding] of Object.entries(asked)) {
        const answer = await fetchRaw(hosted, 'GET', path, { 'accept-encoding': accepted });
        expect([answer.status, answer.headers['content-encoding'] ?? 'identity']).toEqual([200, coding]);
        expect(answer.headers.vary).toBe('Accept-Encoding');
        seen.set(coding, answer);
      }
      const [br, gzip, identity] = ['br', 'gzip', 'identity'].map((coding) => seen.get(coding)!.body);
      expect(br!.length).toBeLessThan(gzip!.length);
      expect(gzip!.length).toBeLessThan(identity!.length);
      // Jest compares bytes one by one, which takes 15 s here.
      for (const [coding, { body }] of seen)
        expect([coding, DECODERS[coding]!(body).equals(identity!)]).toEqual([coding, true]);
    }
  });

  test('are not sent again to a client that has them, in that coding', async () => {
    for (const path of paths) {
      const first = await fetchRaw(hosted, 'GET', path, { 'accept-encoding': 'br' });
      const known = { 'if-none-match': first.headers.etag! };
      expect(await fetchRaw(hosted, 'GET', path, { ...known, 'accept-encoding': 'br' })).toMatchObject({
        status: 304,
        body: Buffer.alloc(0),
      });
      expect(await fetchRaw(hosted, 'GET', path, { ...known, 'accept-encoding': 'gzip' })).toMatchObject({
        status: 200,
      });
    }
    const { headers } = await fetchRaw(hosted, 'GET', '/openapi.json', {});
    expect(headers['cache-control']).toBe('no-cache');
  });

  test('answer HEAD as GET, without the body', async () => {
    for (const path of paths) {
      const [head, get] = await Promise.all(
        ['HEAD', 'GET'].map((method) => fetchRaw(hosted, method, path, {})),
      );
      expect(head!.body).toHaveLength(0);
      for (const name of ['content-length', 'content-type', 'etag', 'cache-control'])
        expect(head!.headers[name]).toBe(get!.headers[name]);
    }
  });
});

interface Raw {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** As the bytes come over the wire, which `fetch` decodes, with headers that it does not let be set. */
function fetchRaw(
  service: Service,
  method: string,
  path: string,
  headers: Record<string, string>,
): Promise<Raw> {
  return new Promise((resolve, reject) => {
    request(service.url + path, { method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    })
      .on('error', reject)
      .end();
  });
}

async function versionOfAssets(): Promise<string> {
  const { text } = await call(hosted, 'GET', '/docs');
  return /"assets\/([0-9a-f]+)\//.exec(text)![1]!;
}

describe('The front door', () => {
  test('tells programs where the interface is described (RFC 8631)', async () => {
    const { headers } = await call(hosted, 'GET', '/', { headers: { Accept: 'application/json' } });
    const links = [...headers.get('link')!.matchAll(/<([^>]+)>; rel="([\w-]+)"/g)].map(([, to, rel]) => [
      rel,
      to,
    ]);
    expect(links).toEqual([
      ['service-desc', '/openapi.json'],
      ['service-desc', '/openapi.yaml'],
      ['service-doc', '/docs'],
      ['status', '/health/ready'],
    ]);
    for (const [, to] of links) expect((await call(hosted, 'GET', to!)).status).toBe(200);
  });

  test('links to nothing that is not there', async () => {
    const { text } = await call(hosted, 'GET', '/');
    const links = [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, to]) => to!);
    expect(links).toEqual(
      expect.arrayContaining(['docs', 'guides', 'openapi.json', 'openapi.yaml', 'health/ready']),
    );
    for (const to of links) expect((await call(hosted, 'GET', `/${to}`)).status).toBe(200);
  });

  test('shows commands that work when pasted, and are those of the README', async () => {
    const { text } = await call(hosted, 'GET', '/');
    const [, code] = /<code id="commands">(.*?)<\/code>/s.exec(text)!;
    const commands = code!.replaceAll(/<[^>]+>/g, '').replaceAll('&amp;', '&');
    const spread = (lines: string) =>
      lines
        .replaceAll(/\\\n\s*/g, '')
        .replaceAll(/ +/g, ' ')
        .trim();
    expect(spread(readFileSync(new URL('../README.md', import.meta.url), 'utf8'))).toContain(
      spread(commands),
    );
    const here = commands.replace('http://localhost:3000', hosted.url);
    const { stdout } = await run('bash', ['-c', here], { env: { PATH: process.env.PATH } });
    const [account, added, list] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(account).toMatchObject({ email: 'grace@example.com' });
    expect(added).toMatchObject({ name: 'Luna' });
    expect(list).toEqual([added]);
  });
});

describe('The demo key', () => {
  const printed = () => /Demo key +(\S+)/.exec(embedded.output())![1]!;

  test('comes by the code of the link that the start prints, in the part of it that reaches no server, once', async () => {
    const [, code] = / {2}Swagger UI {2}\S+\/docs#start=(petstore_start_[\da-f]{48})\n/.exec(
      embedded.output(),
    )!;
    expect(embedded.output()).not.toContain(`#key=`);
    const redeem = (key?: string) => call(embedded, 'GET', '/docs/start', { key });
    expectError(await redeem(), 401, 'missing_api_key');
    const wrong = code!.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'));
    for (const other of [printed(), wrong, newSecret(STARTS), code!.slice(0, -1), 'x']) {
      const answer = await redeem(other);
      expectError(answer, 401, 'invalid_api_key');
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="petstore", error="invalid_token"');
    }
    expect((await call(embedded, 'GET', `/docs/start?code=${code}`)).status).toBe(401);
    expect((await call(embedded, 'GET', '/v1/pets', { key: code })).status).toBe(401);
    const all = await Promise.all(Array.from({ length: 20 }, () => redeem(code)));
    const [good, ...others] = all.toSorted((one, other) => one.status - other.status);
    expect([good!.status, good!.body]).toEqual([200, { key: printed() }]);
    expect(good!.headers.get('cache-control')).toBe('no-store');
    for (const answer of others) expectError(answer, 401, 'invalid_api_key');
    expect((await call(embedded, 'GET', '/v1/pets', { key: printed() })).status).toBe(200);
    expect(embedded.output().split(code!)).toHaveLength(2);
  });

  test('is told to nobody who asks, from wherever and under whatever name', async () => {
    const { port } = new URL(embedded.url);
    // As a proxy in front sends it by default, for the whole Internet: from this machine, to its own name.
    for (const Host of [`localhost:${port}`, `127.0.0.1:${port}`, 'localhost', '127.0.0.1'])
      expect((await fetchRaw(embedded, 'GET', '/docs/demo-key', { Host })).status).toBe(404);
  });

  test('is in no answer', async () => {
    const files = readdirSync(new URL('../src/platform/docs/site/assets', import.meta.url));
    const paths = [
      '/',
      '/docs',
      '/docs/demo-key',
      '/docs/start',
      '/guides',
      '/search.json',
      '/docs/trial.json',
      '/openapi.json',
      '/openapi.yaml',
      '/favicon.ico',
      '/metrics',
    ];
    const probes = ['/health/live', '/health/ready', '/v1/pets', '/v1/api-keys', '/v1/api-keys/current'];
    for (const path of [...paths, ...probes, ...files.map((name) => `/assets/x/${name}`)]) {
      const { headers, text } = await call(embedded, 'GET', path, { key: printed() });
      expect(text + JSON.stringify([...headers])).not.toContain(printed());
    }
    expect(embedded.output().split(printed())).toHaveLength(2);
  });

  test('is not there with a database of its own, nor in the link to a page that calls other addresses', async () => {
    const away = await mkdtemp(join(tmpdir(), 'petstore-site-'));
    const env = { DATABASE_URL: '', DATA_DIR: away, BASE_URL: 'https://api.example.com/v1' };
    const led = await startService(env);
    await led.stop();
    await rm(away, { recursive: true, force: true });
    expect(led.output()).toMatch(/ Swagger UI +\S+\/docs\n/);
    expect(hosted.output()).toMatch(/ Swagger UI +\S+\/docs\n/);
    expect(hosted.output()).not.toMatch(/petstore_/);
    expectError(await call(hosted, 'GET', '/docs/start', { key: newSecret(STARTS) }), 401, 'invalid_api_key');
  });
});
