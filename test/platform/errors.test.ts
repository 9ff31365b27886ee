import 'reflect-metadata';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { randomUUID } from 'node:crypto';
import {
  type ArgumentsHost,
  type CallHandler,
  Catch,
  type ExecutionContext,
  Get,
  HttpException,
  Injectable,
  type NestInterceptor,
  Param,
  Res,
  UseFilters,
  UseInterceptors,
} from '@nestjs/common';
import { APP_FILTER, BaseExceptionFilter } from '@nestjs/core';
import type { Response } from 'express';
import { catchError, type Observable } from 'rxjs';
import { DataSource } from 'typeorm';
import type { ErrorCode } from '../../src/platform/api/index.js';
import { ApiError } from '../../src/platform/index.js';
import {
  type Answer,
  authorizationOf,
  call,
  createCheapAccount,
  createKey,
  expectError,
  send,
} from '../../src/testing/client.js';
import {
  query,
  type Service,
  sharedService,
  startService,
  type TestedService,
} from '../../src/testing/service.js';
import { type Extended, startExtended } from '../support/extended.js';
import { withTableLocked } from '../support/held.js';
import { UsualController } from '../support/notes.controllers.js';
import { eventually } from '../support/npm.js';
import { PublicTried } from '../support/tried.js';

const service = sharedService();
let key: string;

/** The same with an address of its own, and pages of others that may call it. */
let configured: Service;
/** What slow clients get, in the end. */
let slow: ReturnType<typeof beginSlowly>;

beforeAll(async () => {
  key = await createKey(service);
  slow = beginSlowly();
  configured = await startService({
    BASE_URL: 'https://api.example.com/store/v1/',
    KEEP_ALIVE_SECONDS: '2',
    CORS_ORIGINS: 'https://shop.example,https://two.example',
    DATABASE_URL: service.databaseUrl,
  });
});
afterAll(() => configured.stop());

const PET = JSON.stringify({ name: 'Rex', categoryId: 1 });
const JSON_TYPE = { 'Content-Type': 'application/json' };
const post = (body: unknown, headers: Record<string, string> = {}) =>
  call(service, 'POST', '/v1/pets', { key, body, headers: { ...JSON_TYPE, ...headers } });
const raw = (lines: string[], body = '') => {
  const [method, path] = lines[0]!.split(' ');
  return send(service, `${lines.join('\r\n')}\r\n\r\n${body}`, { method, path });
};
const head = (...more: string[]) => [
  'POST /v1/pets HTTP/1.1',
  'Host: x',
  `Authorization: Bearer ${key}`,
  'Content-Type: application/json',
  ...more,
];

function open(
  bytes: string,
  at: TestedService = service,
): { socket: Socket; text: () => string; closed: Promise<unknown> } {
  const { hostname, port } = new URL(at.url);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.on('error', () => {}).on('data', (chunk: Buffer) => (text += chunk.toString()));
  socket.write(bytes);
  // Not `once`, which a reset would end with an error.
  return { socket, text: () => text, closed: new Promise((resolve) => socket.once('close', resolve)) };
}

async function sentFor(bytes: string): Promise<string> {
  const { text, closed } = open(bytes);
  await closed;
  return text();
}

const statusesIn = (text: string) =>
  (text.match(/HTTP\/1\.1 \d+/g) ?? []).map((line) => Number(line.slice(9)));

/** Clients that take their time, all at once: what each was sent, and after how many seconds its connection was closed. */
function beginSlowly() {
  const begun = Date.now();
  const wait = async (bytes: string, isReading = true) => {
    const { socket, text, closed } = open(bytes);
    if (!isReading) socket.pause();
    // A byte now and then, so that it is not idle; and so that a client that reads nothing learns of the end.
    const drip = setInterval(
      () => socket.write(isReading ? ' ' : 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
      1_000,
    );
    await closed;
    clearInterval(drip);
    return { text: text(), seconds: (Date.now() - begun) / 1_000 };
  };
  const much = 'GET /reference HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(100);
  return {
    headers: wait('GET /v1/pets HTTP/1.1\r\nHost: x\r\nX:'),
    body: wait(`${head('Content-Length: 500').join('\r\n')}\r\n\r\n{`),
    answered: wait('POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{'),
    unread: wait(much, false),
    read: open(much),
  };
}

describe('Authentication', () => {
  test('accepts a key under the scheme Bearer in any case, and no other', async () => {
    const by = (scheme: string) =>
      call(service, 'GET', '/v1/pets', { headers: { Authorization: `${scheme} ${key}` } });
    for (const scheme of ['bearer', 'BEARER', 'Bearer  ']) expect((await by(scheme)).status).toBe(200);
    for (const scheme of ['Basic', 'Token', 'ApiKey']) expectError(await by(scheme), 401, 'missing_api_key');
  });

  test('accepts no key from the query, a body, a form or another header', async () => {
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const others = { 'X-Api-Key': key, Cookie: `access_token=${key}` };
    for (const answer of [
      await call(service, 'GET', `/v1/pets?access_token=${key}`),
      await call(service, 'GET', `/v1/pets?api_key=${key}`),
      await call(service, 'POST', '/v1/pets', { body: { access_token: key, name: 'Rex', categoryId: 1 } }),
      await call(service, 'POST', '/v1/pets', { body: `access_token=${key}`, headers: form }),
      await call(service, 'GET', '/v1/pets', { headers: others }),
    ])
      expectError(answer, 401, 'missing_api_key');
    // Nor from a second Authorization header, before or after another.
    for (const pair of [
      ['x', key],
      [key, 'x'],
      [key, key],
    ]) {
      const headers = pair.map((one) => `Authorization: Bearer ${one}`);
      expectError(await raw(['GET /v1/pets HTTP/1.1', 'Host: x', ...headers]), 401, 'invalid_api_key');
    }
  });
});

describe('Bodies', () => {
  const TYPES = ['application/json', 'APPLICATION/JSON', 'application/json; charset=utf-8'];
  test.each([...TYPES, 'application/json;charset="UTF-8"'])('are accepted as %s', async (type) => {
    expect((await post(PET, { 'Content-Type': type })).status).toBe(201);
  });

  test.each([
    ...['text/plain', 'application/x-www-form-urlencoded', 'application/json-patch+json'],
    ...['application/jsonx', 'application/json; charset=latin1', 'application/json, text/plain', 'json'],
    '',
  ])('are refused as %s', async (type) => {
    expectError(await post(PET, { 'Content-Type': type }), 400, 'invalid_content_type');
  });

  test('are refused without a Content-Type, and with two', async () => {
    const lines = ['POST /v1/pets HTTP/1.1', 'Host: x', `Authorization: Bearer ${key}`];
    expectError(await raw([...lines, `Content-Length: ${PET.length}`], PET), 400, 'invalid_content_type');
    expectError(await raw([...lines, 'Content-Length: 0']), 400, 'invalid_content_type');
    const two = [
      'Content-Type: application/json',
      'Content-Type: text/plain',
      `Content-Length: ${PET.length}`,
    ];
    expectError(await raw([...lines, ...two], PET), 400, 'invalid_content_type');
  });

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['half an object', '{"name":'],
    ['NaN', '{"name":"Rex","categoryId":NaN}'],
    ['a trailing comma', '{"name":"Rex","categoryId":1,}'],
    ['a raw NUL', '{"name":"R\0x","categoryId":1}'],
    ['invalid UTF-8', Buffer.from('{"name":"R\xffx","categoryId":1}', 'latin1')],
    ['an encoded surrogate', Buffer.from('{"name":"\xed\xa0\x80","categoryId":1}', 'latin1')],
    ['UTF-16', Buffer.from(PET, 'utf16le')],
  ])('of %s are answered 400 invalid_json', async (_what, body) => {
    expectError(await post(body), 400, 'invalid_json');
  });

  test('may begin with a byte order mark, and nest arbitrarily deep in ignored properties', async () => {
    expect((await post(`\ufeff${PET}`)).status).toBe(201);
    const deep = '['.repeat(45_000) + ']'.repeat(45_000);
    expect((await post(`{"name":"Rex","categoryId":1,"other":${deep}}`)).status).toBe(201);
    expectError(await post(`{"name":${deep},"categoryId":1}`), 400, 'validation_failed');
    expectError(await post(deep), 400, 'validation_failed');
    const long = await post(`{"name":"Rex","categoryId":${'9'.repeat(90_000)}}`);
    expect(expectError(long, 400, 'validation_failed')).toContain('categoryId');
  });

  test('cannot reach a prototype, and count the last of a repeated name, as JSON.parse does', async () => {
    for (const value of ['{"constructor":{"name":1}}', '{"then":{}}', '{"__proto__":null}', '[[1]]'])
      for (const body of [`{"name":${value},"categoryId":1}`, `{"name":"Rex","categoryId":${value}}`])
        expectError(await post(body), 400, 'validation_failed');
    const hostile =
      '{"__proto__":{"name":"X","status":"sold"},"constructor":{"prototype":{"x":1}},"categoryId":1}';
    expectError(await post(hostile), 400, 'validation_failed');
    const { body } = await post('{"__proto__":{"status":"sold"},"name":"Rex","name":"Luna","categoryId":1}');
    expect(body).toEqual({ id: expect.any(Number), name: 'Luna', categoryId: 1 });
  });

  test('of 100 kB are accepted, and larger ones answered 413, also in chunks, before they have arrived', async () => {
    const padded = (size: number) => PET.replace('{', `{"x":"${'x'.repeat(size - PET.length - 7)}",`);
    const tooLarge = async (answer: Promise<Answer>) => expectError(await answer, 413, 'payload_too_large');
    expect((await post(padded(102_400))).status).toBe(201);
    await tooLarge(post(padded(102_401)));
    await tooLarge(raw(head('Content-Length: 10000000'), '{'));
    const chunk = `20000\r\n${'x'.repeat(131_072)}\r\n`;
    await tooLarge(raw(head('Transfer-Encoding: chunked'), chunk));
  });

  test('are asked for with 100 Continue once the key and the headers are valid, and not before', async () => {
    const ask = async (authorization: string, length: number) => {
      const lines = ['POST /v1/pets HTTP/1.1', 'Host: x', authorization, 'Content-Type: application/json'];
      const end = ['Expect: 100-continue', `Content-Length: ${length}`, '', ''];
      const { socket } = open([...lines, ...end].join('\r\n'));
      const [first] = (await once(socket, 'data')) as [Buffer];
      socket.destroy();
      return first.toString().slice(9, 12);
    };
    expect(await ask('X: y', 5)).toBe('401');
    expect(await ask('Authorization: Bearer x', 5)).toBe('401');
    expect(await ask(`Authorization: Bearer ${key}`, 102_401)).toBe('413');
    expect(await ask(`Authorization: Bearer ${key}`, 5)).toBe('100');
  });

  test.each([
    ['gzip', gzipSync],
    ['X-GZip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ] as const)('may be compressed with %s, whose bombs are answered 413', async (encoding, compress) => {
    const headers = { 'Content-Encoding': encoding };
    expect((await post(compress(Buffer.from(PET)), headers)).status).toBe(201);
    expectError(await post(compress(Buffer.alloc(10_000_000, ' ')), headers), 413, 'payload_too_large');
    const message = expectError(await post(Buffer.alloc(50, 0xff), headers), 400, 'bad_request');
    expect(message).toBe('The request body cannot be decompressed.');
  });

  test('that are chunked and empty, as tunnels and proxies send them, count as no body', async () => {
    const account = await createCheapAccount(service);
    const { body } = await call(service, 'POST', '/v1/api-keys', { account, body: { name: 'Till' } });
    const path = `/v1/api-keys/${body.id}/roll`;
    const lines = [`POST ${path} HTTP/1.1`, 'Host: x', `Authorization: ${authorizationOf({ account })}`];
    const rollWith = (...more: string[]) =>
      send(service, [...lines, 'Transfer-Encoding: chunked', ...more].join('\r\n'), { method: 'POST', path });
    expectError(await rollWith('', '2', '{}', '0', '', ''), 400, 'invalid_content_type');
    expect((await rollWith('', '0', '', '')).status).toBe(201);
    expectError(await raw(head('Transfer-Encoding: chunked'), '0\r\n\r\n'), 400, 'invalid_json');
  });

  test.each(['gzip, gzip', 'identity, gzip'])('are refused in the encoding %s', async (encoding) => {
    const answer = await post(PET, { 'Content-Encoding': encoding });
    const message = expectError(answer, 415, 'unsupported_encoding');
    expect(message).toMatch(/gzip, deflate or br/);
    expect(answer.headers.get('accept-encoding')).toBe('gzip, deflate, br');
  });

  test('may have an empty Content-Encoding, which names none', async () => {
    expect((await raw(head('Content-Encoding: ', `Content-Length: ${PET.length}`), PET)).status).toBe(201);
  });
});

describe('Routes', () => {
  test.each([
    ...['/v1', '/v1/nothing', '/v2/pets', '/pets', '/V1/pets', '/v1/Pets', '//v1/pets', '/v1/pets/1/2'],
    ...['/docs/nothing', '/docs/package.json', '/v1/%zz', '/../etc/passwd'],
  ])('answer 404 route_not_found for %s', async (path) => {
    expectError(await raw([`GET ${path} HTTP/1.1`, 'Host: x']), 404, 'route_not_found');
  });

  test.each([
    ['GET', '/messages', 'OPTIONS, POST'],
    ['TRACE', '/v1/store/orders/1', 'GET, HEAD, OPTIONS, PATCH'],
    ['PROPFIND', '/health/live', 'GET, HEAD, OPTIONS'],
    ['PATCH', '/v1/api-keys/current/', 'DELETE, OPTIONS'],
    ['PATCH', '/v1/api-keys/current?x=1', 'DELETE, OPTIONS'],
  ])('answer 405 with Allow for %s %s', async (method, path, allow) => {
    const answer = await raw([`${method} ${path} HTTP/1.1`, 'Host: x']);
    expectError(answer, 405, 'method_not_allowed');
    expect(answer.headers.get('allow')).toBe(allow);
    const { status, headers, text } = await call(service, 'OPTIONS', path);
    expect([status, headers.get('allow'), text]).toEqual([204, allow, '']);
  });

  test.each([
    ['http://shop.example/v1/pets?limit=1', 200],
    ['HTTP://x/v1/pets', 200],
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

test('CORS lets pages of the configured origins call, changes nothing else, and is off by default', async () => {
  const origin = 'https://shop.example';
  const asked = 'authorization,if-match,if-none-match,traceparent,tracestate,baggage,sentry-trace';
  const ask = (from: string) => {
    const wanted = { 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': asked };
    return call(configured, 'OPTIONS', '/v1/pets', { headers: { Origin: from, ...wanted } });
  };
  const [preflight, stranger] = [await ask(origin), await ask('https://evil.example')];
  const plain = await call(configured, 'OPTIONS', '/v1/pets');
  const unknown = await call(configured, 'OPTIONS', '/v1/nothing');
  const options = { key, headers: { Origin: origin } };
  const read = await call(configured, 'GET', '/v1/pets', options);
  const byDefault = await call(service, 'GET', '/v1/pets', options);
  const allowed = [preflight, stranger, read, byDefault].map(({ headers }) =>
    headers.get('access-control-allow-origin'),
  );
  expect(allowed).toEqual([origin, null, origin, null]);
  expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([204, asked]);
  expect([plain.status, plain.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS, POST']);
  expectError(unknown, 404, 'route_not_found');
  expect(read.headers.get('access-control-expose-headers')).toContain('Link');
});

describe('Responses', () => {
  test('carry the request id of the client if it is well-formed, else a new one', async () => {
    const idFor = async (id: string) => {
      const headers = { 'X-Request-Id': id };
      return (await call(service, 'GET', '/v1/pets', { key, headers })).headers.get('x-request-id');
    };
    expect(await idFor('abc-123')).toBe('abc-123');
    for (const bad of ['a b', 'x'.repeat(129), '<script>', ''])
      expect(await idFor(bad)).toMatch(/^[\da-f-]{36}$/);
  });

  test('are kept by no cache, taken for nothing but what they are, and do not reveal what the service is made of', async () => {
    const answers = [
      await call(service, 'GET', '/v1/pets', { key }),
      await call(service, 'GET', '/v1/pets'),
      await call(service, 'GET', '/v1/pets?limit=x', { key }),
      await call(service, 'GET', '/nothing'),
      await post('{'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 400, 404, 400]);
    for (const { headers, text } of answers) {
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(headers.get('x-powered-by')).toBeNull();
      expect(headers.get('server')).toBeNull();
      expect(text).not.toMatch(/express|nest|typeorm|node_modules|\bat \/|SELECT|Unexpected token/i);
    }
  });

  test.each(['a b', 'a>b', '[::1', 'a:99999', 'a:b', 'a"b', 'a/b', 'x@y', 'http://x', '%', 'x%22'])(
    'refuse the Host header %s, and do nothing',
    async (host) => {
      const name = `${randomUUID()} ${host}`;
      const body = JSON.stringify({ name, categoryId: 1 });
      const lines = head(`Content-Length: ${Buffer.byteLength(body)}`);
      lines[1] = `Host: ${host}`;
      expectError(await raw(lines, body), 400, 'bad_request');
      expect(await query(service.databaseUrl, 'SELECT FROM pets WHERE name = $1', [name])).toEqual([]);
    },
  );

  test('link to the host that was asked, or by BASE_URL if that is set', async () => {
    const lines = ['GET /v1/categories?limit=1 HTTP/1.1', `Authorization: Bearer ${key}`];
    const asked = await raw([...lines, 'Host: shop.example:81']);
    expect(asked.headers.get('link')).toMatch(/^<http:\/\/shop\.example:81\/v1\//);
    const page = await call(configured, 'GET', '/v1/categories?limit=1', { key });
    const message = await call(configured, 'POST', '/messages', { key, body: { message: 'Hello' } });
    const unknown = await call(configured, 'GET', '/v1/pets/0', { key });
    const unreadable = await send(configured, 'GET / HTTP/9\r\n\r\n');
    const base = 'https://api.example.com/store';
    expect(page.headers.get('link')).toContain(`<${base}/v1/categories?limit=1&cursor=`);
    expect(message.headers.get('location')).toBe(`${base}/v1/messages/${message.body.id}`);
    const help = (code: string) => `<${base}/guides/errors#${code}>; rel="help"`;
    expect(unknown.headers.get('link')).toContain(help('pet_not_found'));
    expect(unreadable.headers.get('link')).toContain(help('bad_request'));
  });
});

describe('What is not an HTTP request', () => {
  const POST = 'POST /v1/accounts HTTP/1.1\r\nHost: x\r\n';

  test.each([
    ['an unknown method', 'FOO /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['no request line', 'hello\r\n\r\n'],
    ['TLS', Buffer.from('1603010200010001fc0303', 'hex')],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['two lengths', `${POST}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`],
    ['a length and chunks', `${POST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a negative length', `${POST}Content-Length: -1\r\n\r\n`],
    ['no Host', 'GET /v1/pets HTTP/1.1\r\n\r\n'],
    ['two Hosts', 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n'],
    ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
  ])('is answered 400 bad_request: %s', async (_what, bytes) => {
    expectError(await send(service, bytes), 400, 'bad_request');
  });

  test('is over with its answer, though the client goes on sending', async () => {
    const { hostname, port } = new URL(service.url);
    const stubborn = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    stubborn.on('error', () => {}).resume();
    stubborn.write('hello\r\n\r\n');
    const drip = setInterval(() => stubborn.write('more'), 300);
    await new Promise((resolve) => stubborn.once('close', resolve));
    clearInterval(drip);
  });
});

test('An idle connection is kept for KEEP_ALIVE_SECONDS after an answer, and the client is told', async () => {
  const begun = performance.now();
  const { text, closed } = open('GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n', configured);
  await closed;
  expect(text()).toMatch(/^Keep-Alive: timeout=2\r$/m);
  expect(performance.now() - begun).toBeGreaterThan(2_000);
});

describe('Requests in one packet', () => {
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  const add = (values: object) => {
    const body = JSON.stringify(values);
    return `${head(`Content-Length: ${body.length}`).join('\r\n')}\r\n\r\n${body}`;
  };

  test('are answered in their order, the good and the refused, each seen by those after it', async () => {
    const wrong = 'GET /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n';
    const names = Array.from({ length: 10 }, () => randomUUID());
    const kind = await call(service, 'POST', '/v1/categories', { key, body: { name: randomUUID() } });
    const categoryId: number = kind.body.id;
    const list = get(`/v1/pets?categoryId=${categoryId}`);
    const one = (name: string) => wrong + add({ name, categoryId }) + list + get('/v1/nothing');
    const text = await sentFor(`${names.map(one).join('')}bad\r\n\r\n`);
    expect(statusesIn(text)).toEqual([...names.flatMap(() => [401, 201, 200, 404]), 400]);
    const answers = text.split('HTTP/1.1 ').slice(1);
    names.forEach((name, i) => {
      expect(answers[4 * i + 1]).toContain(name);
      expect(answers[4 * i + 2]).toContain(name);
    });
  });

  test.each([
    ['what is no HTTP', 'hello\r\n\r\n'],
    ['a request without colons', 'GET / HTTP/1.1\r\nbad header\r\n\r\n'],
    ['a tunnel', 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a broken body', 'CHUNKED\r\n\r\nzz\r\n'],
  ])('are answered before the refusal of %s', async (_what, bytes) => {
    const chunked = head('Transfer-Encoding: chunked').join('\r\n');
    const good = add({ name: 'Rex', categoryId: 1 });
    const text = await sentFor(good + good + bytes.replace('CHUNKED', chunked));
    expect(statusesIn(text)).toEqual([201, 201, 400]);
    expect(text).toMatch(/"status":400\}$/);
  });

  test.each([
    [401, 'POST /v1/pets', ''],
    [404, 'POST /v1/nothing', ''],
    [405, 'PUT /v1/pets', ''],
    [400, 'POST /v1/pets', 'Authorization: Bearer KEY\r\nContent-Type: text/plain\r\n'],
    [413, 'POST /v1/pets', 'Authorization: Bearer KEY\r\nContent-Type: application/json\r\n'],
  ])('do not include the late body of a request that was answered %i', async (status, line, headers) => {
    const start = `${line} HTTP/1.1\r\nHost: x\r\n${headers.replace('KEY', key)}`;
    const half = 'x'.repeat(60_000);
    /** Sends the rest of a body, and what follows it, once its request is answered. */
    const after = async (begin: string, rest: string) => {
      const { socket, text, closed } = open(start + begin + half);
      await eventually(() => text().includes('}'));
      socket.write(rest);
      await closed;
      return statusesIn(text());
    };
    const known = 'Content-Length: 120000\r\n\r\n';
    expect(await after(known, `${half}${get('/v1/categories/1')}bad\r\n\r\n`)).toEqual([status, 200, 400]);
    const chunked = 'Transfer-Encoding: chunked\r\n\r\n';
    expect(await after(`${chunked}1d4c0\r\n${half}`, `${half}\r\nzz\r\n`)).toEqual([status]);
    // Nor is there a second answer if the body is none from the beginning.
    expect(statusesIn(await sentFor(`${start}${chunked}zz\r\n\r\n`))).toHaveLength(1);
  });
});

describe('A slow client', () => {
  test('gets 408 and is cut off when headers or a body do not arrive within 15 s', async () => {
    for (const { text, seconds } of [await slow.headers, await slow.body]) {
      expect(text).toMatch(/^HTTP\/1\.1 408 /);
      const error = { code: 'request_timeout', message: expect.stringMatching(/./), status: 408 };
      expect(JSON.parse(text.slice(text.indexOf('{')))).toEqual(error);
      expect(text).toMatch(/\r\nX-Request-Id: .*\r\n/);
      expect(seconds).toBeGreaterThan(14);
      expect(seconds).toBeLessThan(29);
    }
    // One that was answered before gets no second answer.
    expect(statusesIn((await slow.answered).text)).toEqual([401]);
  });

  test('is cut off when it has read nothing of its answers for 30 s, and not if it reads', async () => {
    const { seconds } = await slow.unread;
    expect(seconds).toBeGreaterThan(29);
    // The kernel of a client may take some more of it meanwhile.
    expect(seconds).toBeLessThan(75);
    expect(slow.read.socket.destroyed).toBe(false);
    slow.read.socket.destroy();
  }, 90_000);
});

describe("A team's filter for everything that hands on to Nest's, such as Sentry's", () => {
  const caught: unknown[] = [];

  @Catch()
  class TeamFilter extends BaseExceptionFilter {
    override catch(exception: unknown, host: ArgumentsHost): void {
      caught.push(exception);
      // oxlint-disable-next-line promise/valid-params -- a filter, not a promise
      super.catch(exception, host);
    }
  }

  /** As a library reports what it sees. */
  @Injectable()
  class Reporting implements NestInterceptor {
    intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
      return next.handle().pipe(
        catchError((error: unknown) => {
          if (error instanceof HttpException) caught.push([error.getStatus(), error.getResponse()]);
          throw error;
        }),
      );
    }
  }

  @PublicTried('filtered')
  @UseFilters(TeamFilter)
  @UseInterceptors(Reporting)
  class FilteredController {
    @Get('coded/:code')
    coded(@Param('code') code: ErrorCode): never {
      throw new ApiError(code);
    }

    @Get('begun')
    begun(@Res() response: Response): never {
      response.write('half');
      throw new TypeError('secret');
    }
  }

  @PublicTried('slow')
  class SlowController {
    constructor(private readonly database: DataSource) {}

    @Get()
    get(): Promise<unknown> {
      return this.database.query('SELECT pg_sleep(10)');
    }
  }

  let plain: Extended;
  let filtered: Extended;
  let ownKey: string;
  beforeAll(async () => {
    plain = await startExtended({}, UsualController, SlowController, FilteredController);
    const { databaseUrl: DATABASE_URL } = plain;
    filtered = await startExtended({ DATABASE_URL }, UsualController, SlowController, {
      provide: APP_FILTER,
      useClass: TeamFilter,
    });
    ownKey = await createKey(plain);
  });
  afterAll(() => Promise.all([plain.stop(), filtered.stop()]));

  /** What differs by the request or the moment. */
  const OF_MOMENT = new Set(['date', 'x-request-id']);
  const shown = ({ status, headers, text }: Answer, at: Extended) => {
    const all = [...headers].filter(([name]) => !OF_MOMENT.has(name));
    return JSON.stringify([status, all, text]).replaceAll(at.url, '');
  };
  type Ask = (at: Extended) => Promise<Answer>;
  const get =
    (path: string): Ask =>
    (at) =>
      call(at, 'GET', path, { key: ownKey });
  const whileLocked =
    (table: string, ask: Ask): Ask =>
    (at) =>
      withTableLocked(at, table, () => ask(at));
  const create = (at: Extended, name: string, headers = {}) =>
    call(at, 'POST', '/v1/categories', { key: ownKey, body: { name }, headers });
  const REQUESTS: [status: number, code: string, ask: Ask][] = [
    [400, 'validation_failed', get('/v1/pets?limit=0')],
    [400, 'bad_request', get('/v1/usual/number/x')],
    [401, 'missing_api_key', (at) => call(at, 'GET', '/v1/pets')],
    [401, 'invalid_credentials', (at) => call(at, 'GET', '/v1/accounts/current')],
    [401, 'unauthorized', get('/v1/usual/thrown/401')],
    [403, 'permission_denied', get('/v1/usual/coded/permission_denied')],
    [404, 'pet_not_found', get('/v1/pets/0')],
    [404, 'route_not_found', get('/v1/nothing')],
    [404, 'not_found', get('/v1/usual/thrown/404')],
    [405, 'method_not_allowed', (at) => call(at, 'PUT', '/v1/pets', { key: ownKey })],
    [405, 'method_not_allowed', get('/v1/usual/thrown/405')],
    [409, 'category_exists', (at) => create(at, 'Dogs').then(() => create(at, 'Dogs'))],
    [409, 'conflict', get('/v1/usual/silent')],
    [412, 'precondition_failed', get('/v1/usual/coded/precondition_failed')],
    [
      422,
      'idempotency_key_reused',
      async (at) => {
        const keyed = { 'Idempotency-Key': randomUUID() };
        await create(at, randomUUID(), keyed);
        return create(at, randomUUID(), keyed);
      },
    ],
    [429, 'rate_limited', get('/v1/usual/coded/rate_limited')],
    [500, 'internal_error', get('/v1/usual/broken')],
    [500, 'internal_error', get('/v1/usual/secret')],
    [503, 'service_unavailable', get('/v1/usual/coded/service_unavailable')],
    [503, 'service_unavailable', get('/v1/usual/thrown/503')],
    // A database that is too slow, for TypeORM and for a `FastRepository`.
    [503, 'service_unavailable', get('/v1/slow')],
    [503, 'service_unavailable', whileLocked('categories', get('/v1/categories/1'))],
  ];

  test.each(REQUESTS)("gives what the product's gives: %i %s", async (status, code, ask) => {
    const expected = await ask(plain);
    expectError(expected, status, code);
    caught.length = 0;
    expect(shown(await ask(filtered), filtered)).toBe(shown(expected, plain));
    // A wrong method is answered before any filter.
    expect(caught.length > 0).toBe(code !== 'method_not_allowed' || caught[0] instanceof HttpException);
  });

  test.each([
    [400, 'validation_failed'],
    [401, 'missing_api_key'],
    [403, 'permission_denied'],
    [404, 'pet_not_found'],
    [405, 'method_not_allowed'],
    [409, 'category_exists'],
    [412, 'precondition_failed'],
    [422, 'idempotency_key_reused'],
    [429, 'rate_limited'],
    [503, 'service_unavailable'],
  ])('at a controller gives the same, and interceptors see an HttpException: %i %s', async (status, code) => {
    const expected = await get(`/v1/usual/coded/${code}`)(plain);
    expectError(expected, status, code);
    caught.length = 0;
    expect(shown(await get(`/v1/filtered/coded/${code}`)(plain), plain)).toBe(shown(expected, plain));
    expect(caught).toEqual([[status, expected.body], expect.any(HttpException)]);
  });

  test('lets no answer that fails after its first byte look whole', async () => {
    const answer = fetch(`${plain.url}/v1/filtered/begun`);
    await expect(answer.then((begun) => begun.text())).rejects.toThrow();
  });
});
