import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { Controller, Delete, Get, Patch, Put } from '@nestjs/common';
import fc from 'fast-check';
import { Public } from '../../src/platform/api/operation.js';
import { TIMEOUTS } from '../../src/platform/database/session-settings.js';
import { type Answer, call, createKey, expectError, send } from '../../src/testing/client.js';
import { addressOf, operations } from '../../src/testing/document.js';
import { startExtended } from '../support/extended.js';
import { eventually } from '../support/npm.js';
import { query, type Service, startService } from '../../src/testing/service.js';

let service: Service;
let key: string;

/** The same with an address of its own, and pages of others that may call it. */
let configured: Service;

beforeAll(async () => {
  service = await startService();
  key = await createKey(service);
  configured = await startService({
    BASE_URL: 'https://api.example.com/store/v1/',
    CORS_ORIGINS: 'https://shop.example,https://two.example',
    DATABASE_URL: service.databaseUrl,
  });
});
afterAll(async () => {
  await configured.stop();
  await service.stop();
});

const PET = JSON.stringify({ name: 'Rex', categoryId: 1 });
const JSON_TYPE = { 'Content-Type': 'application/json' };
const post = (body: unknown, headers: Record<string, string> = {}) =>
  call(service, 'POST', '/v1/pets', { key, body, headers: { ...JSON_TYPE, ...headers } });
const raw = (lines: string[], body = '') =>
  send(service, `${lines.join('\r\n')}\r\n\r\n${body}`, {
    method: lines[0]!.split(' ')[0],
    path: lines[0]!.split(' ')[1],
  });

describe('Authentication', () => {
  const protectedOperations = operations.filter(({ operation }) => operation.security.length > 0);

  test.each(protectedOperations.map((one) => [one.operation.operationId, one] as const))(
    '%s refuses a request without credentials, and one with a malformed body alike',
    async (_id, one) => {
      const { method, operation } = one;
      const isBasic = 'basicAuth' in operation.security[0]!;
      const address = addressOf(one, () => 'x', { limit: 'x' });
      const bodies = method === 'GET' ? [undefined] : [undefined, '{', '\0'];
      for (const body of bodies) {
        const answer = await call(service, method, address, { body });
        expectError(answer, 401, isBasic ? 'invalid_credentials' : 'missing_api_key');
        expect(answer.headers.get('www-authenticate')).toMatch(isBasic ? /^Basic realm=/ : /^Bearer realm=/);
      }
    },
  );

  test.each([
    ['an unknown key', 'Bearer petstore_0000000000000000000000000000000000000000e04fbd0c'],
    ['a malformed key', 'Bearer nonsense'],
    ['a key of 10 kB', `Bearer ${'x'.repeat(10_000)}`],
    ['two words', 'Bearer a b'],
  ])('refuses %s with the same answer', async (_what, Authorization) => {
    const answer = await call(service, 'GET', '/v1/pets', { headers: { Authorization } });
    expect(answer.text).toBe('{"code":"invalid_api_key","message":"The API key is not valid.","status":401}');
    expect(answer.status).toBe(401);
  });

  test.each(['Basic', 'Token', 'ApiKey'])('accepts no key under the scheme %s', async (scheme) => {
    const answer = await call(service, 'GET', '/v1/pets', { headers: { Authorization: `${scheme} ${key}` } });
    expectError(answer, 401, 'missing_api_key');
  });

  test.each(['bearer', 'BEARER', 'Bearer  '])('accepts the scheme as %s', async (scheme) => {
    const answer = await call(service, 'GET', '/v1/pets', { headers: { Authorization: `${scheme} ${key}` } });
    expect(answer.status).toBe(200);
  });

  test('accepts no key from the query, a body, a form or another header', async () => {
    const attempts: Promise<Answer>[] = [
      call(service, 'GET', `/v1/pets?access_token=${key}`),
      call(service, 'GET', `/v1/pets?api_key=${key}`),
      call(service, 'POST', '/v1/pets', { body: { access_token: key, name: 'Rex', categoryId: 1 } }),
      call(service, 'POST', '/v1/pets', {
        body: `access_token=${key}`,
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      }),
      call(service, 'GET', '/v1/pets', { headers: { 'X-Api-Key': key, Cookie: `access_token=${key}` } }),
    ];
    for (const answer of await Promise.all(attempts)) expectError(answer, 401, 'missing_api_key');
  });

  test('accepts no key from a second Authorization header, before or after another', async () => {
    for (const pair of [
      ['x', key],
      [key, 'x'],
      [key, key],
    ]) {
      const headers = pair.map((one) => `Authorization: Bearer ${one}`);
      expectError(await raw(['GET /v1/pets HTTP/1.1', 'Host: x', ...headers]), 401, 'invalid_api_key');
    }
  });

  test('is not asked for by health, the document and Swagger UI', async () => {
    for (const path of ['/health/live', '/health/ready', '/openapi.json', '/openapi.yaml', '/docs']) {
      expect((await call(service, 'GET', path)).status).toBe(200);
    }
  });
});

describe('Bodies', () => {
  test.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
  ])('are accepted as %s', async (type) => {
    expect((await post(PET, { 'Content-Type': type })).status).toBe(201);
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json-patch+json',
    'application/jsonx',
    'application/json; charset=latin1',
    'application/json, text/plain',
    'json',
    '',
  ])('are refused as %s', async (type) => {
    expectError(await post(PET, { 'Content-Type': type }), 400, 'invalid_content_type');
  });

  test('are refused without a Content-Type', async () => {
    const lines = ['POST /v1/pets HTTP/1.1', 'Host: x', `Authorization: Bearer ${key}`];
    expectError(await raw([...lines, `Content-Length: ${PET.length}`], PET), 400, 'invalid_content_type');
    expectError(await raw([...lines, 'Content-Length: 0']), 400, 'invalid_content_type');
  });

  test('with a leading byte order mark are accepted', async () => {
    expect((await post(`\ufeff${PET}`)).status).toBe(201);
  });

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['half an object', '{"name":'],
    ['NaN', '{"name":"Rex","categoryId":NaN}'],
    ['a trailing comma', '{"name":"Rex","categoryId":1,}'],
    ['single quotes', "{'name':'Rex'}"],
    ['a raw NUL', '{"name":"R\0x","categoryId":1}'],
    ['invalid UTF-8', Buffer.from('{"name":"R\xffx","categoryId":1}', 'latin1')],
    ['an encoded surrogate', Buffer.from('{"name":"\xed\xa0\x80","categoryId":1}', 'latin1')],
    ['UTF-16', Buffer.from(PET, 'utf16le')],
    ['a leading zero', '{"name":"Rex","categoryId":01}'],
  ])('of %s are answered 400 invalid_json', async (_what, body) => {
    expectError(await post(body), 400, 'invalid_json');
  });

  test('may nest arbitrarily deep in ignored properties, and are refused in others', async () => {
    const deep = '['.repeat(45_000) + ']'.repeat(45_000);
    expect((await post(`{"name":"Rex","categoryId":1,"other":${deep}}`)).status).toBe(201);
    expectError(await post(`{"name":${deep},"categoryId":1}`), 400, 'validation_failed');
    expectError(await post(deep), 400, 'validation_failed');
    const withLongNumber = await post(`{"name":"Rex","categoryId":1234567890123456789,"other":${deep}}`);
    expect(withLongNumber.status).toBe(400);
  });

  test.each([
    '{"constructor":1}',
    '{"constructor":{"name":1}}',
    '{"then":{}}',
    '{"__proto__":null}',
    '[[1]]',
  ])('are refused with %s where a value belongs', async (value) => {
    for (const body of [`{"name":${value},"categoryId":1}`, `{"name":"Rex","categoryId":${value}}`]) {
      expectError(await post(body), 400, 'validation_failed');
    }
  });

  test('cannot reach a prototype', async () => {
    const hostile =
      '{"__proto__":{"name":"X","status":"sold"},"constructor":{"prototype":{"x":1}},"categoryId":1}';
    expectError(await post(hostile), 400, 'validation_failed');
    expect(
      (await post(`{"__proto__":{"status":"sold"},"name":"Rex","categoryId":1}`)).body.status,
    ).toBeUndefined();
  });

  test('count the last of a repeated name, as JSON.parse does', async () => {
    expect((await post('{"name":"A","name":"B","categoryId":1}')).body.name).toBe('B');
  });

  test('of 100 kB are accepted, and larger ones answered 413, also in chunks', async () => {
    const padded = (size: number) => PET.replace('{', `{"x":"${'x'.repeat(size - PET.length - 7)}",`);
    expect((await post(padded(102_400))).status).toBe(201);
    expectError(await post(padded(102_401)), 413, 'payload_too_large');
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    const lines = [
      'POST /v1/pets HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
    ];
    expectError(
      await raw([...lines, 'Transfer-Encoding: chunked'], `${chunk}${chunk}0\r\n\r\n`),
      413,
      'payload_too_large',
    );
  });

  test('that are too large are answered before they have arrived', async () => {
    const lines = [
      'POST /v1/pets HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${key}`,
      `Content-Type: application/json`,
    ];
    expectError(await raw([...lines, 'Content-Length: 10000000'], '{'), 413, 'payload_too_large');
    const chunk = `20000\r\n${'x'.repeat(131_072)}\r\n`;
    expectError(await raw([...lines, 'Transfer-Encoding: chunked'], chunk), 413, 'payload_too_large');
  });

  test('are asked for with 100 Continue once the key and the headers are valid, and not before', async () => {
    const ask = async (authorization: string, length: number) => {
      const { hostname, port } = new URL(service.url);
      const socket = connect(Number(port), hostname);
      const lines = ['POST /v1/pets HTTP/1.1', 'Host: x', authorization, 'Content-Type: application/json'];
      socket.write([...lines, 'Expect: 100-continue', `Content-Length: ${length}`, '', ''].join('\r\n'));
      const [first] = (await once(socket, 'data')) as [Buffer];
      socket.destroy();
      return first.toString().slice(9, 12);
    };
    expect(await ask('X: y', 5)).toBe('401');
    expect(await ask('Authorization: Bearer x', 5)).toBe('401');
    expect(await ask(`Authorization: Bearer ${key}`, 102_401)).toBe('413');
    expect(await ask(`Authorization: Bearer ${key}`, 5)).toBe('100');
  });

  test('have their type checked in no time, however many spaces it has', async () => {
    const type = `application/json${' '.repeat(15_000)}x`;
    const lines = ['POST /v1/pets HTTP/1.1', 'Host: x', `Authorization: Bearer ${key}`];
    // A busy machine may be slow now and then, a slow check always is.
    await eventually(async () => {
      const begin = performance.now();
      const answer = await raw([...lines, `Content-Type: ${type}`, 'Content-Length: 2'], '{}');
      expectError(answer, 400, 'invalid_content_type');
      return performance.now() - begin < 150;
    });
  });

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const)('may be compressed with %s, whose bombs are answered 413', async (encoding, compress) => {
    const headers = { 'Content-Encoding': encoding };
    expect((await post(compress(Buffer.from(PET)), headers)).status).toBe(201);
    expectError(await post(compress(Buffer.alloc(10_000_000, ' ')), headers), 413, 'payload_too_large');
    const broken = await post(Buffer.alloc(50, 0xff), headers);
    expectError(broken, 400, 'bad_request');
    expect(broken.body.message).toBe('The request body cannot be decompressed.');
  });

  test.each(['rot13', 'gzip, gzip', 'identity, gzip'])('are refused in the encoding %s', async (encoding) => {
    expectError(await post(PET, { 'Content-Encoding': encoding }), 415, 'unsupported_encoding');
  });
});

describe('Routes', () => {
  test.each([
    '/v1',
    '/v1/',
    '/v1/nothing',
    '/v2/pets',
    '/pets',
    '/V1/pets',
    '/v1/Pets',
    '//v1/pets',
    '/v1/pets/1/2',
    '/docs/nothing',
    '/docs/LICENSE',
    '/docs/package.json',
    '/docs/index.html',
    '/health',
    '/v1/%zz',
    '/../etc/passwd',
  ])('answer 404 route_not_found for %s', async (path) => {
    expectError(await raw([`GET ${path} HTTP/1.1`, 'Host: x']), 404, 'route_not_found');
  });

  test.each([
    ['DELETE', '/v1/pets', 'GET, HEAD, OPTIONS, POST'],
    ['PUT', '/v1/pets/1', 'GET, HEAD, OPTIONS'],
    ['GET', '/v1/accounts', 'OPTIONS, POST'],
    ['GET', '/messages', 'OPTIONS, POST'],
    ['TRACE', '/v1/store/orders/1', 'GET, HEAD, OPTIONS, PATCH'],
    ['PROPFIND', '/health/live', 'GET, HEAD, OPTIONS'],
    ['PATCH', '/v1/api-keys/current', 'DELETE, OPTIONS'],
    ['PATCH', '/v1/api-keys/current/', 'DELETE, OPTIONS'],
    ['PATCH', '/v1/api-keys/current?x=1', 'DELETE, OPTIONS'],
    ['GET', '/v1/api-keys/current', 'DELETE, OPTIONS'],
    ['PATCH', '/v1/api-keys', 'GET, HEAD, OPTIONS, POST'],
    ['GET', '/v1/api-keys/1', 'DELETE, OPTIONS, PATCH'],
    ['POST', '/v1/accounts/current', 'DELETE, GET, HEAD, OPTIONS, PATCH'],
  ])('answer 405 with Allow for %s %s', async (method, path, allow) => {
    const answer = await raw([`${method} ${path} HTTP/1.1`, 'Host: x']);
    expectError(answer, 405, 'method_not_allowed');
    expect(answer.headers.get('allow')).toBe(allow);
    const { status, headers } = await call(service, 'OPTIONS', path);
    expect([status, headers.get('allow')]).toEqual([204, allow]);
  });

  test('of a team are those that stand literally before those with a parameter', async () => {
    @Public()
    @Controller('bookings')
    class Bookings {
      @Get('export') export() {
        return { is: 'export' };
      }
      @Get(':bookingId') get() {
        return { is: 'booking' };
      }
      @Patch(':bookingId') change() {
        return { is: 'changed' };
      }
      @Delete(':bookingId/seats/:seatId') free() {
        return { is: 'free' };
      }
      @Get(':bookingId/seats/first') first() {
        return { is: 'first' };
      }
      @Put('summaries') write() {
        return { is: 'written' };
      }
    }
    const extended = await startExtended(service.databaseUrl, Bookings);
    const answers: [string, number, string][] = [];
    for (const [method, path] of [
      ['GET', 'export'],
      ['GET', '7'],
      ['PATCH', '7'],
      ['PATCH', 'exports'],
      ['PATCH', 'export'],
      ['OPTIONS', 'export'],
      ['DELETE', '7/seats/8'],
      ['DELETE', '7/seats/first'],
      ['HEAD', '7/seats/first/'],
      ['OPTIONS', '7/seats/first'],
      ['HEAD', 'summaries'],
      ['GET', 'summaries'],
    ] as const) {
      const { status, headers } = await fetch(`${extended.url}/v1/bookings/${path}`, { method });
      answers.push([`${method} ${path}`, status, headers.get('allow') ?? '']);
    }
    await extended.stop();
    expect(answers).toEqual([
      ['GET export', 200, ''],
      ['GET 7', 200, ''],
      ['PATCH 7', 400, ''],
      ['PATCH exports', 400, ''],
      ['PATCH export', 405, 'GET, HEAD, OPTIONS'],
      ['OPTIONS export', 204, 'GET, HEAD, OPTIONS'],
      ['DELETE 7/seats/8', 200, ''],
      ['DELETE 7/seats/first', 405, 'GET, HEAD, OPTIONS'],
      ['HEAD 7/seats/first/', 200, ''],
      ['OPTIONS 7/seats/first', 204, 'GET, HEAD, OPTIONS'],
      ['HEAD summaries', 405, 'OPTIONS, PUT'],
      ['GET summaries', 405, 'OPTIONS, PUT'],
    ]);
  });

  test('answer OPTIONS with the methods that they allow', async () => {
    const answer = await call(service, 'OPTIONS', '/v1/pets');
    expect([answer.status, answer.headers.get('allow'), answer.text]).toEqual([
      204,
      'GET, HEAD, OPTIONS, POST',
      '',
    ]);
  });

  test.each([
    ['http://shop.example/v1/pets?limit=1', 200],
    ['HTTP://x/v1/pets', 200],
    ['http://x', 200],
    ['http://[::1/v1/pets', 200],
    ['http://x:99999999/v1/nothing', 404],
    ['//x@[::1#', 404],
    ['/v1/pets#x', 200],
    ['*', 404],
    ['/v1/categories/%31?x=%zz', 200],
    ['/v1/pets?ids=1%2C2&x=%zz', 200],
    ['/v1/pets/1%zz', 400],
  ])('answer the target %s with %i', async (target, status) => {
    const lines = [`GET ${target} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${key}`];
    const answer = await send(service, `${lines.join('\r\n')}\r\n\r\n`);
    expect(answer.status).toBe(status);
    if (status === 404) expectError(answer, 404, 'route_not_found');
  });

  test('answer HEAD as GET without its body', async () => {
    const answer = await call(service, 'HEAD', '/v1/pets', { key });
    expect([answer.status, answer.text]).toEqual([200, '']);
    expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(1);
  });
});

describe('CORS', () => {
  test('lets pages of the configured origins call, and changes nothing else', async () => {
    const origin = 'https://shop.example';
    const ask = (from: string) =>
      call(configured, 'OPTIONS', '/v1/pets', {
        headers: { Origin: from, 'Access-Control-Request-Method': 'POST' },
      });
    const [preflight, stranger] = [await ask(origin), await ask('https://evil.example')];
    const plain = await call(configured, 'OPTIONS', '/v1/pets');
    const unknown = await call(configured, 'OPTIONS', '/v1/nothing');
    const read = await call(configured, 'GET', '/v1/pets', { key, headers: { Origin: origin } });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, origin]);
    expect(preflight.headers.get('access-control-allow-headers')).toContain('Authorization');
    expect(stranger.headers.get('access-control-allow-origin')).toBeNull();
    expect([plain.status, plain.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS, POST']);
    expectError(unknown, 404, 'route_not_found');
    expect(read.headers.get('access-control-expose-headers')).toContain('Link');
  });

  test('is off by default', async () => {
    const { headers } = await call(service, 'GET', '/v1/pets', {
      key,
      headers: { Origin: 'https://shop.example' },
    });
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('Responses', () => {
  test('carry the request id of the client if it is well-formed, else a new one', async () => {
    const idFor = async (id: string) =>
      (await call(service, 'GET', '/v1/pets', { key, headers: { 'X-Request-Id': id } })).headers.get(
        'x-request-id',
      );
    expect(await idFor('abc-123')).toBe('abc-123');
    for (const bad of ['a b', 'x'.repeat(129), '<script>', ''])
      expect(await idFor(bad)).toMatch(/^[\da-f-]{36}$/);
  });

  test('are kept by no cache, and taken for nothing but what they are', async () => {
    const answers = [
      await call(service, 'GET', '/v1/pets', { key }),
      await call(service, 'GET', '/v1/pets'),
      await call(service, 'GET', '/nothing'),
      await post('{'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 404, 400]);
    for (const { headers } of answers) {
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    }
  });

  test('do not reveal what the service is made of', async () => {
    const answers = await Promise.all([
      post('{'),
      call(service, 'GET', '/nothing'),
      call(service, 'GET', '/v1/pets?limit=x', { key }),
    ]);
    for (const { headers, text } of answers) {
      expect(headers.get('x-powered-by')).toBeNull();
      expect(headers.get('server')).toBeNull();
      expect(text).not.toMatch(/express|nest|typeorm|node_modules|\bat \/|SELECT|Unexpected token/i);
    }
  });

  test.each(['a b', 'a>b', '[::1', 'a:99999', 'a:b', 'a"b', 'a/b', 'x@y', 'http://x', '%'])(
    'refuse the Host header %s, and do nothing',
    async (host) => {
      const body = JSON.stringify({ name: `Host ${host}`, categoryId: 1 });
      const head = ['POST /v1/pets HTTP/1.1', `Host: ${host}`, `Authorization: Bearer ${key}`];
      const type = ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`];
      expectError(await raw([...head, ...type], body), 400, 'bad_request');
      const sql = `SELECT id FROM pets WHERE name LIKE 'Host %'`;
      expect(await query(service.databaseUrl, sql)).toEqual([]);
    },
  );

  test('link to the host that was asked', async () => {
    const lines = ['GET /v1/categories?limit=1 HTTP/1.1', `Authorization: Bearer ${key}`];
    expect((await raw([...lines, 'Host: shop.example:81'])).headers.get('link')).toMatch(
      /^<http:\/\/shop\.example:81\/v1\//,
    );
  });

  test('start Link and Location with BASE_URL if that is set', async () => {
    const page = await call(configured, 'GET', '/v1/categories?limit=1', { key });
    const message = await call(configured, 'POST', '/messages', { key, body: { message: 'Hello' } });
    const unknown = await call(configured, 'GET', '/v1/pets/0', { key });
    const unreadable = await send(configured, 'GET / HTTP/9\r\n\r\n');
    for (const [{ headers }, code] of [
      [unknown, 'pet_not_found'],
      [unreadable, 'bad_request'],
    ] as const)
      expect(headers.get('link')).toContain(
        `<https://api.example.com/store/guides/errors#${code}>; rel="help"`,
      );
    expect(page.headers.get('link')).toMatch(
      /^<https:\/\/api\.example\.com\/store\/v1\/categories\?limit=1&cursor=/,
    );
    expect(message.headers.get('location')).toBe(
      `https://api.example.com/store/v1/messages/${message.body.id}`,
    );
  });
});

describe('Location and Link', () => {
  let proxied: Service;
  beforeAll(async () => {
    // Its sockets know an IPv4 address as ::ffff:127.0.0.1.
    const dual = await startService({ TRUST_PROXY: '1', HOST: '::', DATABASE_URL: service.databaseUrl });
    proxied = { ...dual, url: dual.url.replace(/\/\/.*:/, '//127.0.0.1:') };
  });
  afterAll(() => proxied.stop());

  const hosts = fc.oneof(
    fc.constantFrom(
      'x',
      '1.2.3.4.5',
      '999.1.1.1',
      'a.1',
      '0x',
      '0x1.0x',
      'xn--a',
      '[::1]',
      'a..b',
      '%41',
      'a:',
      'a:0',
    ),
    fc.webAuthority(),
    fc.stringMatching(/^[\w.:%[\]-]{1,12}$/),
  );
  const schemes = fc.oneof(
    fc.constantFrom(
      'http',
      'https',
      'HTTPS',
      '!',
      '',
      'https, http',
      'ftp',
      'javascript',
      'a b',
      '//',
      'file',
    ),
    fc.stringMatching(/^[\w:/!,.+-]{1,8}$/),
  );

  test('are valid for whatever is sent as Host and X-Forwarded-…, or else nothing was done', async () => {
    const property = fc.asyncProperty(
      hosts,
      schemes,
      hosts,
      fc.boolean(),
      async (host, scheme, other, isOld) => {
        const name = randomUUID();
        const body = JSON.stringify({ name, categoryId: 1 });
        const head = [
          `POST /v1/pets HTTP/1.${isOld ? 0 : 1}`,
          `Host: ${host}`,
          `X-Forwarded-Proto: ${scheme}`,
        ];
        const more = [
          `X-Forwarded-Host: ${other}`,
          `Authorization: Bearer ${key}`,
          'Content-Type: application/json',
          `Content-Length: ${body.length}`,
        ];
        const answer = await send(proxied, `${[...head, ...more].join('\r\n')}\r\n\r\n${body}`, {
          method: 'POST',
          path: '/v1/pets',
        });
        const made = await query(service.databaseUrl, 'SELECT FROM pets WHERE name = $1', [name]);
        expect([answer.status, made.length]).toEqual(made.length === 1 ? [201, 1] : [400, 0]);
        if (answer.status === 201)
          expect(answer.headers.get('location')).toMatch(/^https?:\/\/[^/]+\/v1\/pets\/\d+$/);
      },
    );
    await fc.assert(property, { numRuns: 200 });
  });

  test('follow the connection for HTTP/1.0 without a host', async () => {
    const links: (string | null)[] = [];
    for (const host of [[], ['Host:'], ['Host: x']]) {
      const lines = ['GET /v1/categories?limit=1 HTTP/1.0', ...host, `Authorization: Bearer ${key}`];
      const { headers } = await send(proxied, `${lines.join('\r\n')}\r\n\r\n`);
      links.push(headers.get('link'));
    }
    const origins = links.map((link) => /^<(.*)\/v1\//.exec(link ?? '')?.[1]);
    expect(origins).toEqual([proxied.url, proxied.url, 'http://x']);
  });

  test.each([
    ['https', 'https'],
    ['HTTPS', 'https'],
    ['https, http', 'https'],
    ['!', 'http'],
    ['ftp', 'http'],
  ])('take the scheme from X-Forwarded-Proto: %s', async (scheme, expected) => {
    const answer = await call(proxied, 'GET', '/v1/categories?limit=1', {
      key,
      headers: { 'X-Forwarded-Proto': scheme },
    });
    expect(answer.headers.get('link')).toMatch(new RegExp(`^<${expected}://127`));
  });
});

describe('What is not an HTTP request', () => {
  test.each([
    ['an unknown method', 'FOO /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['no request line', 'hello\r\n\r\n'],
    ['TLS', Buffer.from('1603010200010001fc0303', 'hex')],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a header without a colon', 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n'],
    [
      'two lengths',
      'POST /v1/accounts HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    ],
    [
      'a length and chunks',
      'POST /v1/accounts HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a negative length', 'POST /v1/accounts HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n'],
    ['no Host', 'GET /v1/pets HTTP/1.1\r\n\r\n'],
    ['two Hosts', 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n'],
    ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
  ])('is answered 400 bad_request: %s', async (_what, bytes) => {
    expectError(await send(service, bytes), 400, 'bad_request');
  });

  test('closes a connection that the client leaves open after a refusal', async () => {
    const { hostname, port } = new URL(service.url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    socket.on('error', () => {});
    socket.resume().write('hello\r\n\r\n');
    const drip = setInterval(() => socket.write('more'), 300);
    await new Promise((resolve) => socket.once('close', resolve));
    clearInterval(drip);
  });

  test('leaves the service serving, even if the client cuts it off', async () => {
    const { hostname, port } = new URL(service.url);
    for (let i = 0; i < 50; i++) {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => {});
      socket.write('CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n', () => socket.resetAndDestroy());
      await once(socket, 'close');
    }
    expect((await call(service, 'GET', '/v1/pets', { key })).status).toBe(200);
  });

  test('headers larger than 16 kB are answered 431', async () => {
    expectError(
      await raw(['GET /v1/pets HTTP/1.1', 'Host: x', `X: ${'x'.repeat(17_000)}`]),
      431,
      'headers_too_large',
    );
  });

  test('an expectation other than 100-continue is answered 417', async () => {
    expectError(
      await raw(['GET /v1/pets HTTP/1.1', 'Host: x', 'Expect: miracles']),
      417,
      'expectation_failed',
    );
  });
});

describe('A slow client', () => {
  const slowly = async (bytes: string) => {
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    const begin = Date.now();
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.on('error', () => {});
    socket.write(bytes);
    const drip = setInterval(() => socket.write(' '), 1000);
    await once(socket, 'close');
    clearInterval(drip);
    return { text, seconds: (Date.now() - begin) / 1000 };
  };

  test('that was answered before its body had arrived gets no second answer', async () => {
    const { text } = await slowly('POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{');
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401']);
  });

  test('gets 408 and is cut off when headers or a body do not arrive within 15 s', async () => {
    const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
    const all = await Promise.all([
      slowly('GET /v1/pets HTTP/1.1\r\nHost: x\r\nX:'),
      slowly(`${head}Content-Length: 500\r\n\r\n{`),
    ]);
    for (const { text, seconds } of all) {
      expect(text).toMatch(/^HTTP\/1\.1 408 /);
      expect(text).toMatch(/\{"code":"request_timeout","message":"[^"]+","status":408\}$/);
      expect(text).toMatch(/\r\nX-Request-Id: .*\r\n/);
      expect(seconds).toBeGreaterThan(14);
      expect(seconds).toBeLessThan(17);
    }
  });
});

test('The time-outs end one after the other, and all before a request does', () => {
  const { connect, statement, lock, silence, transaction, request, taken } = TIMEOUTS;
  // Each leaves some time for the answer.
  const margin = 90;
  expect(2 * lock).toBeLessThan(statement);
  expect(statement).toBeLessThan(silence);
  for (const waits of [connect + statement, connect + silence]) expect(waits + margin).toBeLessThan(request);
  expect(margin).toBeLessThan(taken);
  expect(taken).toBeLessThan(transaction);
  expect(request).toBeLessThan(3_000);
});
