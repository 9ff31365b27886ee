import fc from 'fast-check';
import {
  call,
  type CallOptions,
  createAccount,
  createKey,
  expectError,
  send,
  TIMESTAMP,
} from '../src/testing/client.js';
import { CHARACTER } from './support/character.js';
import { query, type Service, startService } from '../src/testing/service.js';

const UUID_V7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;
const ADDRESSES = ['/messages', '/v1/messages'];

let service: Service;
let key: string;

beforeAll(async () => {
  service = await startService();
  key = await createKey(service);
});
afterAll(() => service.stop());

const submit = (body: unknown, options: CallOptions = {}, path = '/messages') =>
  call(service, 'POST', path, { key, body, ...options });
const get = (id: string, path = '/messages') => call(service, 'GET', `${path}/${id}`, { key });
const stored = (id: string) =>
  query<{ message: string; account_id: string }>(
    service.databaseUrl,
    'SELECT message, account_id FROM messages WHERE id = $1',
    [id],
  );
const countStored = async () =>
  (await query<{ count: string }>(service.databaseUrl, 'SELECT count(*) FROM messages'))[0]!.count;

describe.each(ADDRESSES)('POST %s', (path) => {
  test('answers 202 with exactly id, message, status and createdAt, and the address', async () => {
    const before = Date.now();
    const { status, body, headers } = await submit({ message: 'Hello, world!' }, {}, path);
    expect(status).toBe(202);
    expect(body).toEqual({
      id: expect.stringMatching(UUID_V7),
      message: 'Hello, world!',
      status: 'queued',
      createdAt: expect.stringMatching(TIMESTAMP),
    });
    expect(headers.get('location')).toBe(`${service.url}${path}/${body.id}`);
    const createdAt = Date.parse(body.createdAt);
    expect(createdAt).toBeGreaterThanOrEqual(before);
    expect(createdAt).toBeLessThanOrEqual(Date.now() + 1);
  });

  test('answers 400 as the quickstart does', async () => {
    expectError(await submit('{"message":', {}, path), 400, 'invalid_json');
    const missing = expectError(await submit({}, {}, path), 400, 'validation_failed');
    expect(missing).toBe('message is required.');
    const body = '{"message":"Hello"}';
    const lines = [`POST ${path} HTTP/1.1`, 'Host: x', 'Connection: close', `Authorization: Bearer ${key}`];
    const untyped = `${lines.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    expectError(await send(service, untyped, { method: 'POST', path }), 400, 'invalid_content_type');
  });

  test('answers 401 without a valid key', async () => {
    const body = { message: 'Hello' };
    expectError(await call(service, 'POST', path, { body }), 401, 'missing_api_key');
    expectError(await call(service, 'POST', path, { key: 'nonsense', body }), 401, 'invalid_api_key');
  });
});

describe('A message', () => {
  test('is in the database when it is answered', async () => {
    const account = await createAccount(service);
    const own = await createKey(service, account);
    for (let i = 0; i < 10; i++) {
      const { body } = await submit({ message: `Durable ${i}` }, { key: own });
      expect(await stored(body.id)).toEqual([{ message: `Durable ${i}`, account_id: String(account.id) }]);
    }
  });

  test('outlives a service that is killed right after its answer', async () => {
    const other = await startService({ DATABASE_URL: service.databaseUrl });
    const submitted = call(other, 'POST', '/messages', { key, body: { message: 'Last words' } });
    const { body } = await submitted.finally(() => other.process.kill('SIGKILL'));
    expect((await get(body.id)).body).toMatchObject({ id: body.id, message: 'Last words' });
  });

  test('is accepted by a service with one connection to the database, with a key to repeat it', async () => {
    const other = await startService({ DATABASE_URL: service.databaseUrl, DATABASE_POOL_SIZE: '1' });
    const options = { key, body: { message: 'First' }, headers: { 'Idempotency-Key': 'first' } };
    expect((await call(other, 'POST', '/messages', options)).status).toBe(202);
    expect(await other.stop()).toBe(0);
  });

  test('has an id that contains its time, to the millisecond', async () => {
    const before = Date.now();
    const { body } = await submit({ message: 'tick' });
    const time = Number.parseInt(body.id.replace('-', '').slice(0, 12), 16);
    expect(time).toBeGreaterThanOrEqual(before);
    expect(time).toBeLessThanOrEqual(Date.now());
  });

  test('sent many times at once is accepted each time, under ids of its own', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => submit({ message: 'Again' })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(50);
  });

  test.each([
    ['emoji', 'Hi 👩‍👩‍👧‍👦🏳️‍🌈🐈'],
    ['white space around it', '  \t\r\nhello \u2028\u00a0\n'],
    ['nothing but white space', ' '],
    ['combining characters', 'e\u0301 a\u0308\u0323 \u1112\u1161\u11ab'],
    ['the same letters composed', '\u00e9 \u1ea1\u0308 \ud55c'],
    ['both directions', 'abc \u202eשלום\u202c مرحبا'],
    ['control characters', '\u0001\u001b[31m\u007f\u0085'],
    ['a byte order mark and non-characters', '\ufeff\uffff\u{10ffff}'],
    ['markup', '<script>&amp;"\'\\u0000\\'],
    ['digits beyond 2^53', '12345678901234567890'],
    ['one character', '𝕏'],
  ])('of %s is kept exactly as sent', async (_what, message) => {
    const { status, body } = await submit({ message });
    expect([status, body.message]).toEqual([202, message]);
    expect((await get(body.id)).body.message).toBe(message);
    expect((await stored(body.id))[0]!.message).toBe(message);
  });

  test('of any text is kept exactly as sent', async () => {
    const text = fc.string({ unit: CHARACTER, minLength: 1 }).filter((one) => !one.includes('\0'));
    await fc.assert(
      fc.asyncProperty(text, async (message) => {
        const { body } = await submit({ message });
        expect(body.message).toBe(message);
        expect((await get(body.id)).body.message).toBe(message);
      }),
      { numRuns: 50 },
    );
  });

  test('has up to 65,536 characters', async () => {
    const longest = 'x'.repeat(65_536);
    const { status, body } = await submit({ message: longest });
    expect([status, body.message === longest]).toEqual([202, true]);
    expect((await get(body.id)).body.message === longest).toBe(true);
    expectError(await submit({ message: `${longest}x` }), 400, 'validation_failed');
  });

  test('of characters of four bytes ends where a body does, before it has 65,536 of them', async () => {
    const message = '🐈'.repeat(25_000);
    expect((await submit({ message })).body.message === message).toBe(true);
    expectError(await submit({ message: '🐈'.repeat(65_536) }), 413, 'payload_too_large');
  });

  test.each([
    ['nothing', {}],
    ['an empty text', { message: '' }],
    ['null', { message: null }],
    ['a number', { message: 5 }],
    ['an object', { message: { text: 'Hello' } }],
    ['an array', { message: ['Hello'] }],
    ['NUL', { message: 'a\0b' }],
    ['a lone surrogate', '{"message":"\\ud83d"}'],
    ['surrogates in the wrong order', '{"message":"\\udc08\\ud83d"}'],
    ['the name in capitals', { Message: 'Hello' }],
    ['a bare text', '"Hello"'],
    ['a list', [{ message: 'Hello' }]],
  ])('of %s is refused, and not stored', async (_what, body) => {
    const before = await countStored();
    expectError(await submit(body), 400, 'validation_failed');
    expect(await countStored()).toBe(before);
  });

  test('takes its id, status and time only from the service', async () => {
    const id = '019aa5c2-6f80-7c3e-8f3a-5d2b1c4e6f70';
    const sent = { id, message: 'Mine', status: 'delivered', createdAt: '2000-01-01T00:00:00.000Z' };
    const { body } = await submit(sent);
    expect(body).toMatchObject({ message: 'Mine', status: 'queued' });
    expect(body.id).not.toBe(id);
    expect(body.createdAt).not.toBe(sent.createdAt);
  });
});

describe.each(ADDRESSES)('GET %s/{messageId}', (path) => {
  test('answers with the same four fields, wherever the message was sent', async () => {
    for (const from of ADDRESSES) {
      const { body } = await submit({ message: 'Hello' }, {}, from);
      const found = await get(body.id, path);
      expect(found.status).toBe(200);
      expect(found.body).toEqual({ ...body, status: expect.stringMatching(/^(?:queued|delivered|failed)$/) });
    }
  });

  test('accepts the id in any case', async () => {
    const { body } = await submit({ message: 'Hello' });
    expect((await get(body.id.toUpperCase(), path)).body.id).toBe(body.id);
  });

  test('answers 404 for a message of another account, as for one that does not exist', async () => {
    const { body } = await submit({ message: 'Secret' }, { key: await createKey(service) });
    const other = await get(body.id, path);
    const none = await get('019aa5c2-6f80-7c3e-8f3a-5d2b1c4e6f70', path);
    expectError(other, 404, 'message_not_found');
    expect(other.text).toBe(none.text);
  });

  test.each(['1', 'x', '019aa5c26f807c3e8f3a5d2b1c4e6f70', '{019aa5c2-6f80-7c3e-8f3a-5d2b1c4e6f70}', '%00'])(
    'answers 400 for %s, which is not a UUID',
    async (id) => {
      expectError(await get(id, path), 400, 'validation_failed');
    },
  );

  test('answers 401 without a key', async () => {
    expectError(await call(service, 'GET', `${path}/x`), 401, 'missing_api_key');
  });
});
