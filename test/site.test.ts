import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { type IncomingHttpHeaders, request } from 'node:http';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { call, expectError } from './support/client.js';
import { type Service, startService } from './support/service.js';

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
    CORS_ORIGINS: 'https://shop.example',
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

describe('The pages', () => {
  test.each(['/', '/docs'])('%s runs and shows nothing but its own files', async (path) => {
    const { status, headers, text } = await call(hosted, 'GET', path);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('content-security-policy')).toBe(POLICY);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(text).not.toMatch(/<style|style=|<script(?![^>]* src="assets\/)|\son\w+=|href="https?:/);
  });

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
    for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css', 'docs.js', 'palette.css', 'favicon.svg']) {
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

  test.each(['docs.html', 'package.json', 'swagger-ui.js', '..%2fassets.js', ''])(
    'do not serve %s among their files',
    async (name) => {
      expectError(await call(hosted, 'GET', `/assets/x/${name}`), 404, 'route_not_found');
    },
  );

  test('have their icon where browsers look for one unasked', async () => {
    const { status, headers } = await call(hosted, 'GET', '/favicon.ico');
    expect([status, headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
  });

  test('are found with a slash at the end too', async () => {
    const { status, headers } = await call(hosted, 'GET', '/docs/');
    expect(new URL(headers.get('location')!, `${hosted.url}/docs/`).pathname).toBe('/docs');
    expect(status).toBe(308);
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
    ];
  });

  test('are sent in the smallest coding that the client accepts', async () => {
    const asked = { 'gzip, deflate, br': 'br', 'gzip, br;q=0': 'gzip', deflate: 'identity', '': 'identity' };
    for (const path of paths) {
      const seen = new Map<string, Raw>();
      for (const [accepted, coding] of Object.entries(asked)) {
        const answer = await fetchRaw('GET', path, { 'accept-encoding': accepted });
        expect([answer.status, answer.headers['content-encoding'] ?? 'identity']).toEqual([200, coding]);
        expect(answer.headers.vary).toBe('Accept-Encoding');
        seen.set(coding, answer);
      }
      const [br, gzip, identity] = ['br', 'gzip', 'identity'].map((coding) => seen.get(coding)!.body);
      expect(br!.length).toBeLessThan(gzip!.length);
      expect(gzip!.length).toBeLessThan(identity!.length);
      for (const [coding, { body }] of seen) expect(DECODERS[coding]!(body)).toEqual(identity);
    }
  });

  test('are not sent again to a client that has them, in that coding', async () => {
    for (const path of paths) {
      const first = await fetchRaw('GET', path, { 'accept-encoding': 'br' });
      const known = { 'if-none-match': first.headers.etag! };
      expect(await fetchRaw('GET', path, { ...known, 'accept-encoding': 'br' })).toMatchObject({
        status: 304,
        body: Buffer.alloc(0),
      });
      expect(await fetchRaw('GET', path, { ...known, 'accept-encoding': 'gzip' })).toMatchObject({
        status: 200,
      });
    }
    const { headers } = await fetchRaw('GET', '/openapi.json', {});
    expect(headers['cache-control']).toBe('no-cache');
  });

  test('answer HEAD as GET, without the body', async () => {
    for (const path of paths) {
      const [head, get] = await Promise.all(['HEAD', 'GET'].map((method) => fetchRaw(method, path, {})));
      expect(head!.body).toHaveLength(0);
      for (const name of ['content-length', 'content-type', 'etag', 'cache-control'])
        expect(head!.headers[name]).toBe(get!.headers[name]);
    }
  });

  interface Raw {
    status: number;
    headers: IncomingHttpHeaders;
    body: Buffer;
  }

  /** As the bytes come over the wire, which `fetch` decodes. */
  function fetchRaw(method: string, path: string, headers: Record<string, string>): Promise<Raw> {
    return new Promise((resolve, reject) => {
      request(hosted.url + path, { method, headers }, (response) => {
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
});

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
    expect(links).toEqual(expect.arrayContaining(['docs', 'openapi.json', 'openapi.yaml', 'health/ready']));
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
  const DEMO = '/docs/demo-key';
  const printed = () => /Demo key +(\S+)/.exec(embedded.output())![1]!;

  test('is told to a visitor on this machine, works, and is not to be stored', async () => {
    const { status, headers, body } = await call(embedded, 'GET', DEMO);
    expect([status, body]).toEqual([200, { key: printed() }]);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    expect((await call(embedded, 'GET', '/v1/pets', { key: body.key })).status).toBe(200);
  });

  test.each([
    ['a page of another origin', { Origin: 'https://evil.example' }],
    ['a page of an origin that may call the service', { Origin: 'https://shop.example' }],
    ['a frame or link from elsewhere', { 'Sec-Fetch-Site': 'cross-site' }],
    ['another port of this machine', { 'Sec-Fetch-Site': 'same-site' }],
    ['a name that somebody else leads here', { Host: 'evil.example' }],
    ['a name that begins like this machine', { Host: 'localhost.evil.example:3000' }],
    ['a proxy', { 'X-Forwarded-For': '203.0.113.7' }],
    ['a proxy of the standard', { Forwarded: 'for=203.0.113.7' }],
  ])('is not told to %s', async (_who, headers) => {
    expect(await fetchDemoKey('127.0.0.1', headers)).toEqual({ status: 204, text: '' });
    expect((await fetchDemoKey('127.0.0.1', {})).status).toBe(200);
  });

  test('is not told to another machine', async () => {
    const outside = Object.values(networkInterfaces())
      .flatMap((found) => found ?? [])
      .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
    if (!outside)
      return console.warn('This machine has no address but its own, so none but its own is tried.');
    expect(await fetchDemoKey(outside, { Host: 'localhost' })).toEqual({ status: 204, text: '' });
  });

  test('is not there with a database of its own, nor where the document leads elsewhere', async () => {
    const away = await mkdtemp(join(tmpdir(), 'petstore-site-'));
    const led = await startService({
      DATABASE_URL: '',
      DATA_DIR: away,
      BASE_URL: 'https://api.example.com/v1',
    });
    const answers = [await call(hosted, 'GET', DEMO), await call(led, 'GET', DEMO)];
    await led.stop();
    await rm(away, { recursive: true, force: true });
    expect(answers.map(({ status, text }) => [status, text])).toEqual([
      [204, ''],
      [204, ''],
    ]);
  });

  test('is in no other answer of the pages', async () => {
    const files = ['/assets/x/docs.js', '/assets/x/credentials.js'];
    for (const path of ['/', '/docs', '/openapi.json', '/openapi.yaml', ...files])
      expect((await call(embedded, 'GET', path)).text).not.toContain(printed());
  });

  /** With headers that `fetch` does not let be set. */
  function fetchDemoKey(
    host: string,
    headers: Record<string, string>,
  ): Promise<{ status: number; text: string }> {
    const { port } = new URL(embedded.url);
    return new Promise((resolve, reject) => {
      request({ host, port, path: DEMO, headers: { Host: `localhost:${port}`, ...headers } }, (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('end', () => resolve({ status: response.statusCode!, text }));
      })
        .on('error', reject)
        .end();
    });
  }
});
