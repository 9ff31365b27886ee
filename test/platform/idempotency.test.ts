import 'reflect-metadata';
import { ClassSerializerInterceptor, Module } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import fc from 'fast-check';
import { Client } from 'pg';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, call, createKey, expectError } from '../../src/testing/client.js';
import { Customer, times, untilServed } from '../support/customer.js';
import { type Extended, startExtended } from '../support/extended.js';
import { addJob } from '../support/jobs.js';
import { CREATE_PAPERS, got, PAPERS, PapersController } from '../support/keyed.controllers.js';
import { eventually } from '../support/npm.js';
import { isThorough } from '../support/thorough.js';
import { nextOf } from '../../src/testing/paging.js';
import { query, type Service, startService, type TestedService } from '../../src/testing/service.js';

let service: Service;
let second: Service;
let key: string;

beforeAll(async () => {
  service = await startService();
  key = await createKey(service);
  for (const retryKey of ['expired', 'fresh']) await post('/v1/pets', PET, retryKey);
  await age('expired', 25);
  second = await startService({ DATABASE_URL: service.databaseUrl });
});
afterAll(() => Promise.all([service.stop(), second?.stop()]));

const PET = { name: 'Luna', categoryId: 2, status: 'available' };
const postAt = (at: TestedService, path: string, body: unknown, idempotencyKey: string, bearer = key) =>
  call(at, 'POST', path, { key: bearer, body, headers: keyed(idempotencyKey) });
const post = (path: string, body: unknown, idempotencyKey: string, bearer = key) =>
  postAt(service, path, body, idempotencyKey, bearer);
const count = async (table: string) =>
  Number((await query<{ count: string }>(service.databaseUrl, `SELECT count(*) FROM ${table}`))[0]!.count);
const age = (retryKey: string, hours: number) =>
  query(
    service.databaseUrl,
    `UPDATE idempotency_keys SET created_at = now() - interval '${hours} hours' WHERE key = $1`,
    [retryKey],
  );
const newPet = async () => (await call(service, 'POST', '/v1/pets', { key, body: PET })).body.id as number;
const newOrder = async (petId?: number) => {
  const body = { petId: petId ?? (await newPet()) };
  return (await call(service, 'POST', '/v1/store/orders', { key, body })).body.id as number;
};
const change = (id: number, status: string, headers: Record<string, string>, at: TestedService = service) =>
  call(at, 'PATCH', `/v1/store/orders/${id}`, { key, body: { status }, headers });
const keyed = (idempotencyKey: string = randomUUID()) => ({ 'Idempotency-Key': idempotencyKey });
const replayed = ({ headers }: Answer) => headers.get('idempotency-replayed');

/** The writes that accept the header: their path, a valid body, another valid body, and their table. */
const writes = async () =>
  [
    ['/v1/pets', PET, { ...PET, name: 'Rex' }, 'pets', 201],
    ['/v1/store/orders', { petId: await newPet() }, { petId: await newPet() }, 'orders', 201],
    ['/v1/messages', { message: 'Hello' }, { message: 'Bye' }, 'messages', 202],
    ['/v1/categories', { name: randomUUID() }, { name: randomUUID() }, 'categories', 201],
  ] as const;

describe('Idempotency-Key', () => {
  test('makes a retried write happen once, and repeats its first answer byte for byte', async () => {
    for (const [path, body, , table, status] of await writes()) {
      const retryKey = randomUUID();
      const before = await count(table);
      const first = await post(path, body, retryKey);
      const again = await post(path, body, retryKey);
      expect([first.status, again.status, again.text]).toEqual([status, status, first.text]);
      expect(again.headers.get('location')).toBe(first.headers.get('location'));
      expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
      expect([replayed(first), replayed(again)]).toEqual([null, 'true']);
      expect(await count(table)).toBe(before + 1);
    }
  });

  test('accepts a body of any nesting depth', async () => {
    const retryKey = randomUUID();
    const send = (depth: number) => {
      const other = '['.repeat(depth) + ']'.repeat(depth);
      return post('/v1/pets', `{"name":"Deep","categoryId":1,"other":${other}}`, retryKey);
    };
    const first = await send(20_000);
    expect([first.status, (await send(20_000)).text]).toEqual([201, first.text]);
    expectError(await send(20_001), 422, 'idempotency_key_reused');
  });

  test('answers 422 to another body under the same key', async () => {
    for (const [path, body, other, table] of await writes()) {
      const retryKey = randomUUID();
      await post(path, body, retryKey);
      const before = await count(table);
      expectError(await post(path, other, retryKey), 422, 'idempotency_key_reused');
      expect(await count(table)).toBe(before);
    }
  });

  test('answers 422 to a body that cannot be read under a used key, and the reason under another key', async () => {
    const write = async (retryKey: string, content: Record<string, string>, body: string) => {
      const headers = { Authorization: `Bearer ${key}`, 'Idempotency-Key': retryKey, ...content };
      return (await fetch(`${service.url}/v1/pets`, { method: 'POST', headers, body })).status;
    };
    const json = { 'Content-Type': 'application/json' };
    const [used, unused] = [randomUUID(), randomUUID()];
    expect((await post('/v1/pets', PET, used)).status).toBe(201);
    for (const [status, content, body] of [
      [400, json, '{'],
      [400, { ...json, 'Content-Encoding': 'gzip' }, '{}'],
      [413, json, ' '.repeat(200_000)],
      [400, { 'Content-Type': 'text/plain' }, 'Luna'],
      [415, { ...json, 'Content-Encoding': 'compress' }, '{}'],
    ] as const)
      expect([await write(unused, content, body), await write(used, content, body)]).toEqual([status, 422]);
  });

  test('answers 422 to the same body under the same key on another path', async () => {
    const both = { ...PET, name: randomUUID() };
    expect((await post('/v1/pets', both, both.name)).status).toBe(201);
    expectError(await post('/v1/categories', both, both.name), 422, 'idempotency_key_reused');
    const headers = keyed();
    expect((await change(await newOrder(), 'approved', headers)).status).toBe(200);
    expectError(await change(await newOrder(), 'approved', headers), 422, 'idempotency_key_reused');
  });

  test('takes equal JSON values for the same request, whatever their order, white space and escapes', async () => {
    const value = fc.record({
      name: fc
        .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
        .filter((name) => /[^\s\0]/.test(name)),
      categoryId: fc.constant(2),
      extra: fc.jsonValue({ maxDepth: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(value, async (body) => {
        if (body.name.includes('\0')) return;
        const retryKey = randomUUID();
        const first = await post('/v1/pets', body, retryKey);
        const again = await post('/v1/pets', writtenOtherwise(body), retryKey);
        expect([first.status, again.status, again.text]).toEqual([201, 201, first.text]);
      }),
      { numRuns: isThorough ? 100 : 15 },
    );
    const digits = (number: string) => `{"name":"Luna","categoryId":2,"weight":${number}}`;
    for (const [number, other] of [
      ['1', '1.0'],
      ['9007199254740993', '9007199254740992'],
    ] as const) {
      const retryKey = randomUUID();
      expect((await post('/v1/pets', digits(number), retryKey)).status).toBe(201);
      expect((await post('/v1/pets', digits(number), retryKey)).status).toBe(201);
      expectError(await post('/v1/pets', digits(other), retryKey), 422, 'idempotency_key_reused');
    }
  });

  test('belongs to one account, also while other accounts send the same request under the same key', async () => {
    const bearers = await Promise.all(Array.from({ length: 5 }, () => createKey(service)));
    const ask = () =>
      Promise.all(bearers.map((bearer) => post('/v1/messages', { message: 'Mine' }, 'ours', bearer)));
    const [first, again] = [await ask(), await ask()];
    expect(first.map(({ status }) => status)).toEqual(bearers.map(() => 202));
    expect(new Set(first.map(({ body }) => body.id)).size).toBe(bearers.length);
    expect(again.map(({ text }) => text)).toEqual(first.map(({ text }) => text));
  });

  test('writes one row for a thousand concurrent retries, each of which gets its one answer in the end', async () => {
    const before = await count('messages');
    const all = await times(1_000, () =>
      untilAnswered(() => post('/v1/messages', { message: 'Once' }, 'thousand'), 100),
    );
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([202]));
    expect(new Set(all.map(({ text }) => text)).size).toBe(1);
    expect(await count('messages')).toBe(before + 1);
    // At every address of the operation.
    for (const path of ['/messages', '/v1/messages/'])
      expect((await post(path, { message: 'Once' }, 'thousand')).text).toBe(all[0]!.text);
  });

  test('stores an order and its change with their audit records, and nothing if a record is missing', async () => {
    const petId = await newPet();
    const counts = () => Promise.all(['orders', 'audit_log', 'idempotency_keys'].map(count));
    const approve = (id: number, tag: string) =>
      change(id, 'approved', { ...keyed('recorded-too'), 'If-Match': tag });
    const before = await counts();
    await query(
      service.databaseUrl,
      `CREATE FUNCTION left_out() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
       CREATE TRIGGER left_out BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION left_out()`,
    );
    try {
      expectError(await post('/v1/store/orders', { petId }, 'recorded'), 500, 'internal_error');
      expect(await counts()).toEqual(before);
    } finally {
      await query(service.databaseUrl, 'DROP FUNCTION left_out CASCADE');
    }
    const placed = await post('/v1/store/orders', { petId }, 'recorded');
    const replayed = await post('/v1/store/orders', { petId }, 'recorded');
    expect([replayed.text, replayed.headers.get('etag')]).toEqual([placed.text, placed.headers.get('etag')]);
    const { id } = placed.body;
    const approved = await approve(id, placed.headers.get('etag')!);
    // Of the state that the client knew, which is no more.
    const again = await approve(id, placed.headers.get('etag')!);
    expect([placed.status, approved.status, again.status]).toEqual([201, 200, 200]);
    expect([again.text, again.headers.get('etag')]).toEqual([approved.text, approved.headers.get('etag')]);
    // Whatever the header says, it is not looked at.
    const malformed = await approve(id, 'malformed');
    expect([malformed.status, malformed.text]).toEqual([200, approved.text]);
    expect(await counts()).toEqual([before[0]! + 1, before[1]! + 2, before[2]! + 2]);
  });

  test('answers 409 to any number of retries while the first request takes too long elsewhere', async () => {
    const [owner] = await query<{ account_id: string }>(
      service.databaseUrl,
      `SELECT account_id FROM idempotency_keys WHERE key = 'fresh'`,
    );
    for (const [path, body] of await writes()) {
      const retryKey = randomUUID();
      const undo = await lock(
        `INSERT INTO idempotency_keys (account_id, key, request_hash, body)
         VALUES (${owner!.account_id}, '${retryKey}', '', '')`,
      );
      const answers = await times(20, (i) => postAt([service, second][i % 2]!, path, body, retryKey));
      for (const answer of answers) expectError(answer, 409, 'idempotency_key_in_use');
      await undo();
      expect((await post(path, body, retryKey)).status).toBeLessThan(300);
    }
  });

  test('makes retries wait for the first request and repeats its answer', async () => {
    for (const [path, body, other, table] of await writes()) {
      let answers: Answer[] = [];
      let late!: Answer;
      // On a busy machine the first request may give up the locked table before it is free.
      await eventually(async () => {
        const retryKey = randomUUID();
        const release = await lock(`LOCK TABLE ${table} IN EXCLUSIVE MODE`);
        const first = post(path, body, retryKey);
        await eventually(async () => (await waitingForLocks()) > 0);
        const others = times(10, (i) => postAt([second, service][i % 2]!, path, body, retryKey));
        const reused = post(path, other, retryKey);
        await release();
        answers = [await first, ...(await others)];
        late = await reused;
        return [...answers, late].every(({ status }) => status !== 503);
      });
      expect(answers.filter(({ status }) => status >= 300)).toEqual([]);
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(answers.filter(replayed)).toHaveLength(10);
      expectError(late, 422, 'idempotency_key_reused');
    }
  });

  test('stores nothing for a write that fails, which can then be retried', async () => {
    const petId = await newPet();
    const blocking = await newOrder(petId);
    expectError(await post('/v1/store/orders', { petId }, 'later'), 409, 'pet_not_available');
    expectError(await post('/v1/pets', { name: '' }, 'invalid'), 400, 'validation_failed');
    await change(blocking, 'cancelled', {});
    expect((await post('/v1/store/orders', { petId }, 'later')).status).toBe(201);
    expect((await post('/v1/pets', PET, 'invalid')).status).toBe(201);
  });

  test('is forgotten after 24 hours', async () => {
    const first = await post('/v1/pets', PET, 'old');
    await age('old', 23);
    expect((await post('/v1/pets', PET, 'old')).text).toBe(first.text);
    await age('old', 24);
    const anew = await post('/v1/pets', { ...PET, name: 'Rex' }, 'old');
    expect([anew.status, anew.body.name, replayed(anew)]).toEqual([201, 'Rex', null]);
    expect((await post('/v1/pets', { ...PET, name: 'Rex' }, 'old')).text).toBe(anew.text);
  });

  test('makes a row once for two instances that retry after 24 hours at the same moment', async () => {
    const retryKey = randomUUID();
    await post('/v1/pets', PET, retryKey);
    let answers: Answer[] = [];
    await eventually(async () => {
      await age(retryKey, 25);
      const release = await lock(`SELECT FROM idempotency_keys WHERE key = '${retryKey}' FOR UPDATE`);
      let isOver = false;
      const both = Promise.all([service, second].map((at) => postAt(at, '/v1/pets', PET, retryKey)));
      void both.finally(() => (isOver = true));
      // Each has found the old answer expired, and is about to delete it.
      await eventually(async () => isOver || (await waitingForLocks()) === 2);
      await release();
      answers = await both;
      // On a busy machine one may give up before the other waits.
      return answers.every(({ status }) => status !== 503);
    });
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    expect(answers[0]!.text).toBe(answers[1]!.text);
    expect(answers.filter(replayed)).toHaveLength(1);
  });

  test('is replayed once more if it expires while a retry is under way', async () => {
    const [id, retryKey] = [await newOrder(), randomUUID()];
    const first = await change(id, 'approved', keyed(retryKey));
    let again!: Answer;
    // On a busy machine the retry may come when the answer has expired.
    await eventually(async () => {
      await query(
        service.databaseUrl,
        `UPDATE idempotency_keys SET created_at = now() - interval '24 hours' + interval '0.3 s' WHERE key = $1`,
        [retryKey],
      );
      const expires = Date.now() + 300;
      const release = await lock(`SELECT FROM idempotency_keys WHERE key = '${retryKey}' FOR UPDATE`);
      const retry = change(id, 'approved', keyed(retryKey), second);
      await eventually(async () => Date.now() > expires || (await waitingForLocks()) === 1);
      await sleep(expires + 10 - Date.now());
      await release();
      again = await retry;
      return again.status !== 409;
    });
    expect([again.status, again.text]).toEqual([200, first.text]);
  });

  test('is swept once it has expired, and not before', async () => {
    const sql = `SELECT key FROM idempotency_keys WHERE key IN ('expired', 'fresh') ORDER BY key`;
    const left = () => query(service.databaseUrl, sql);
    await addJob(service.databaseUrl, 'sweep-idempotency-keys');
    await eventually(async () => (await left()).length === 1);
    expect(await left()).toEqual([{ key: 'fresh' }]);
  });

  test('makes a retried change happen once, even a change that would fail the second time', async () => {
    const [id, headers] = [await newOrder(), keyed()];
    const all = await times(20, (i) => change(id, 'approved', headers, i % 2 ? service : second));
    const done = all.filter(({ status }) => status === 200);
    expect(new Set(done.map(({ text }) => text)).size).toBe(1);
    for (const answer of all) if (answer.status !== 200) expectError(answer, 409, 'idempotency_key_in_use');
    const again = await change(id, 'approved', headers);
    expect([again.status, again.text, replayed(again)]).toEqual([200, done[0]!.text, 'true']);
    expectError(await change(id, 'delivered', headers), 422, 'idempotency_key_reused');
    expectError(await change(id, 'approved', {}), 409, 'invalid_transition');
  });
});

describe('Interceptors', () => {
  @Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: ClassSerializerInterceptor }] })
  class GlobalModule {}

  let plain: Extended;
  let plainTwin: Extended;
  let global: Extended;
  let globalTwin: Extended;
  let bearer: string;
  beforeAll(async () => {
    const added = [PAPERS, PapersController];
    plain = await startExtended({}, ...added);
    await query(plain.databaseUrl, CREATE_PAPERS);
    plainTwin = await startExtended(plain.databaseUrl, ...added);
    global = await startExtended(plain.databaseUrl, ...added, { module: GlobalModule });
    globalTwin = await startExtended(plain.databaseUrl, ...added, { module: GlobalModule });
    bearer = await createKey(plain);
  }, 60_000);
  afterAll(() => Promise.all([plain, plainTwin, global, globalTwin].map((one) => one?.stop())));

  const send = (at: Extended, path: string, text: string, retryKey?: string, body: object = { text }) =>
    call(at, 'POST', `/v1/papers/${path}`, { key: bearer, body, headers: retryKey ? keyed(retryKey) : {} });
  const rowsOf = (text: string) =>
    query<{ id: string }>(plain.databaseUrl, `SELECT id FROM papers WHERE text LIKE $1 || '%'`, [text]);
  const stored = async (text: string) => (await rowsOf(text)).length;

  test.each(['mapped-inside', 'mapped-outside', 'mapped-observable', 'mapped-insert', 'mapped-alone'])(
    'get the row of an insert, wherever they stand, with a key and without: %s',
    async (path) => {
      const [text, retryKey] = [randomUUID(), randomUUID()];
      const mapped = `${text}${path === 'mapped-insert' ? ' mapped mapped' : ' mapped'}`;
      const alone = await send(plain, path, text);
      const [row] = await rowsOf(text);
      expect([alone.status, alone.body]).toEqual([201, { id: Number(row!.id), text: mapped }]);
      expect(alone.headers.get('location')).toBe(`${plain.url}/v1/papers/${path}/${row!.id}`);
      if (path === 'mapped-alone') return;
      const first = await send(plain, path, text, retryKey);
      const again = await send(plain, path, text, retryKey);
      expect([first.status, first.body.text, again.text]).toEqual([201, mapped, first.text]);
      expect(again.headers.get('location')).toBe(first.headers.get('location'));
      expect(await stored(text)).toBe(2);
      for (const value of got.get(text)!) expect(value).toBeInstanceOf(Object);
    },
  );

  test('that are outside get for a repeated answer what they got first', async () => {
    for (const path of ['mapped-outside', 'mapped-insert']) {
      const [text, retryKey] = [randomUUID(), randomUUID()];
      for (let i = 0; i < 2; i++) await send(plain, path, text, retryKey);
      const values = got.get(text)! as { id: string; text: string }[];
      const half = values.length / 2;
      for (const [i, { id, text: one }] of values.slice(0, half).entries())
        expect(values[half + i]).toMatchObject({ id, text: one });
    }
  });

  const CHANGING = [
    ...['shown', 'stamped', 'stamped-insert', 'counted-insert', 'read', 'mapped-outside', 'loose'],
  ];

  test.each([...CHANGING, 'acting'])(
    'that change an answer change it once: every repetition has its bytes, on any instance, alone and at once: %s',
    async (path) => {
      for (const [at, twin] of [
        [plain, plainTwin],
        [global, globalTwin],
      ] as const) {
        const [text, retryKey] = [randomUUID(), randomUUID()];
        const first = await send(at, path, text, retryKey);
        expect(first.status).toBe(201);
        for (const other of [at, twin]) {
          const again = await send(other, path, text, retryKey);
          expect([again.status, again.text]).toEqual([201, first.text]);
          expect(replayed(again)).toBe('true');
        }
        if (path === 'shown') expect(first.body).toEqual({ text, length: text.length });
        const [many, manyKey] = [randomUUID(), randomUUID()];
        const all = await times(10, () =>
          Promise.all([at, twin].map((one) => untilAnswered(() => send(one, path, many, manyKey)))),
        );
        expect(new Set(all.flat().map((one) => one.text)).size).toBe(1);
        expect(await stored(many)).toBe(1);
      }
    },
  );

  test('may hide and change what the product answers: a global ClassSerializerInterceptor does', async () => {
    const made = await call(global, 'POST', '/v1/pets', { key: bearer, body: PET });
    const order = { key: bearer, body: { petId: made.body.id } };
    const { id } = (await call(global, 'POST', '/v1/store/orders', order)).body;
    const approve = { key: bearer, body: { status: 'approved' }, headers: keyed('approve-once') };
    const patch = () => call(global, 'PATCH', `/v1/store/orders/${id}`, approve);
    const [first, again] = [await patch(), await patch()];
    expect([first.status, first.body.status, again.text]).toEqual([200, 'approved', first.text]);
    expect(again.headers.get('etag')).toBe(first.headers.get('etag'));
    const pages = await Promise.all(
      ['pets?limit=1', 'store/orders', 'papers', 'categories?limit=2'].map((path) =>
        Promise.all([global, plain].map((at) => call(at, 'GET', `/v1/${path}`, { key: bearer }))),
      ),
    );
    for (const [seen, plainly] of pages) {
      expect([seen!.status, seen!.text]).toEqual([200, plainly!.text]);
      expect(nextOf(seen!)?.search).toBe(nextOf(plainly!)?.search);
    }
  });

  test('that fail after the write undo it, and leave its key free', async () => {
    const text = randomUUID();
    const [failed, again] = [
      await send(plain, 'undone', text, text),
      await send(plain, 'undone', text, text),
    ];
    expect([failed.status, failed.body.code]).toEqual([409, 'conflict']);
    expect([again.status, again.body.text, await stored(text)]).toEqual([201, text, 1]);
    expect(replayed(again)).toBeNull();
  });

  test('that make another text each time make one answer of a key', async () => {
    // The first text is stored slowly, so that the others are made before.
    await query(
      plain.databaseUrl,
      `CREATE FUNCTION keep_slowly() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_sleep(0.2); RETURN NEW; END $$;
       CREATE TRIGGER keep_slowly BEFORE UPDATE ON idempotency_keys FOR EACH ROW
         WHEN (NEW.head ? 'sent') EXECUTE FUNCTION keep_slowly()`,
    );
    const [text, retryKey] = [randomUUID(), randomUUID()];
    const first = send(plain, 'stamped-insert', text, retryKey);
    await eventually(async () => (await stored(text)) === 1);
    const others = [plain, plainTwin].map((at) => send(at, 'stamped-insert', text, retryKey));
    const answers = await Promise.all([first, ...others]);
    await query(plain.databaseUrl, 'DROP FUNCTION keep_slowly CASCADE');
    answers.push(await send(plainTwin, 'stamped-insert', text, retryKey));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
  });

  test('A method that does more than return an insert runs once for a key, after its claim', async () => {
    const [text, retryKey] = [randomUUID(), randomUUID()];
    await times(10, () => untilAnswered(() => send(plain, 'acting', text, retryKey)));
    expect([PapersController.calls.get(text), await stored(text)]).toEqual([1, 1]);
  });

  test('The JSON of a column is repeated in the order in which it was written', async () => {
    const [text, retryKey] = [randomUUID(), randomUUID()];
    const first = await send(plain, 'loose', text, retryKey);
    expect(first.text).toContain(`"loose":{"z":1,"a":[2,{"y":null,"b":"1.50"}],"text":"${text}"}`);
    expect((await send(plain, 'loose', text, retryKey)).text).toBe(first.text);
  });

  test('The Location of a PUT, and one that a method has set, is that of every repetition', async () => {
    for (const [path, method] of Object.entries({ put: 'PUT', named: 'POST' })) {
      const text = randomUUID();
      const options = { key: bearer, body: { text }, headers: keyed(text) };
      const both = await times(2, () => call(plain, method, `/v1/papers/${path}`, options));
      const location = path === 'put' ? `${plain.url}/v1/papers/put` : `/papers/${text}`;
      expect(both.map(({ status }) => status)).toEqual([201, 201]);
      expect(both.map(({ headers }) => headers.get('location'))).toEqual([location, location]);
    }
  });

  test.each([
    ['DELETE', 'removed/TEXT', 204],
    ['POST', 'observed', 201],
    ['PUT', 'put/new', 201],
    ['PUT', 'put/old', 200],
  ])(
    'Status and headers are those that the method and its interceptors give, once and again: %s %s',
    async (method, path, status) => {
      const text = randomUUID();
      const options = { key: bearer, body: { text }, headers: keyed(text) };
      const ask = () => call(plain, method, `/v1/papers/${path.replace('TEXT', text)}`, options);
      const [first, again] = [await ask(), await ask()];
      expect([first.status, again.status, again.text]).toEqual([status, status, first.text]);
      const [{ id }] = (await rowsOf(text)) as [{ id: string }];
      expect(first.text).toBe(method === 'DELETE' ? '' : JSON.stringify({ id: Number(id), text }));
      for (const name of ['location', 'link', 'etag', 'x-note', 'x-number', 'content-type', 'content-length'])
        expect([name, again.headers.get(name)]).toEqual([name, first.headers.get(name)]);
      expect(again.headers.has('x-number')).toBe(path === 'observed');
      expect(again.headers.get('x-note')).toBe(path === 'put/new' ? 'a, b' : null);
      expect([first, again].map(replayed)).toEqual([null, 'true']);
      expect(await stored(text)).toBe(1);
    },
  );

  test('A repetition has the first answer, also where the same request would be refused by now', async () => {
    const [text, retryKey] = [randomUUID(), randomUUID()];
    const body = { text, at: new Date(Date.now() + 2_000) };
    const due = (at: Extended, used: string, sent: object = body) => send(at, 'due', text, used, sent);
    const first = await due(plain, retryKey);
    expect(first.status).toBe(201);
    await eventually(async () => (await due(plain, randomUUID())).status === 400);
    for (const at of [plain, plainTwin, globalTwin]) {
      const again = await due(at, retryKey);
      expect([again.status, again.text, replayed(again)]).toEqual([201, first.text, 'true']);
      expect(again.headers.get('location')).toBe(first.headers.get('location'));
      expectError(await due(at, retryKey, { text, at: new Date(0) }), 422, 'idempotency_key_reused');
    }
  });

  test('The query belongs to the request of a key', async () => {
    const [text, retryKey] = [randomUUID(), randomUUID()];
    const first = await send(plain, 'asked/now?mode=1', text, retryKey);
    expect(first.body.text).toBe(`${text} 1`);
    expect((await send(plain, 'asked/now?mode=1', text, retryKey)).text).toBe(first.text);
    for (const other of ['?mode=2', '', '?mode=1&more=1'])
      expectError(await send(plain, `asked/now${other}`, text, retryKey), 422, 'idempotency_key_reused');
    expect(await stored(text)).toBe(1);
  });
});

test('A key of an earlier release, which has stored no query and 1.x no row, is repeated whatever the query', async () => {
  const order = await newOrder();
  const asked: [method: string, path: string, body: object][] = [
    ...(await writes()).map(([path, body]) => ['POST', path, body] as [string, string, object]),
    ['PATCH', `/v1/store/orders/${order}`, { status: 'approved' }],
  ];
  for (const [method, path, body] of asked) {
    const retryKey = randomUUID();
    const send = (at: Service, to: string) => call(at, method, to, { key, body, headers: keyed(retryKey) });
    const first = await send(service, path);
    expect(first.status).toBeLessThan(300);
    expectError(await send(service, `${path}?trace=1`), 422, 'idempotency_key_reused');
    const change = (sql: string) =>
      query(service.databaseUrl, `UPDATE idempotency_keys SET ${sql} WHERE key = $1`, [retryKey]);
    const before = [`head = head - 'query'`, `head = head - 'row', body = '${first.text}'`];
    for (const sql of before) {
      await change(sql);
      const again = await send(second, `${path}?trace=1`);
      expect([again.status, again.text]).toEqual([first.status, first.text]);
      for (const name of ['location', 'etag']) expect(again.headers.get(name)).toBe(first.headers.get(name));
    }
  }
});

test('A used key is looked at before the request is: another one is 422, however invalid it is', async () => {
  for (const [path, body] of await writes()) {
    const retryKey = randomUUID();
    for (const invalid of [{}, { ...body, name: '', petId: 'x', message: 7 }, []]) {
      expectError(await post(path, invalid, `unused-${retryKey}`), 400, 'validation_failed');
      const first = await post(path, body, retryKey);
      expect(first.status).toBeLessThan(300);
      expectError(await post(path, invalid, retryKey), 422, 'idempotency_key_reused');
    }
  }
  const [id, headers] = [await newOrder(), keyed()];
  expect((await change(id, 'approved', headers)).status).toBe(200);
  expectError(await change(id, 'unheard-of', headers), 422, 'idempotency_key_reused');
});

/** Sends a request as a client does that wants an answer: again while the first is running. */
async function untilAnswered(ask: () => Promise<Answer>, pauseMs = 20): Promise<Answer> {
  for (;;) {
    const answer = await untilServed(ask);
    if (answer.status !== 409) return answer;
    expectError(answer, 409, 'idempotency_key_in_use');
    await sleep(pauseMs);
  }
}

function writtenOtherwise(value: unknown): string {
  if (Array.isArray(value)) return `[ ${value.map(writtenOtherwise).join('\n, ')} ]`;
  if (typeof value === 'string')
    return `"${[...Array(value.length).keys()].map((i) => `\\u${value.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')}"`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).toReversed();
  return `{ ${members.map(([name, one]) => `${JSON.stringify(name)} : ${writtenOtherwise(one)}`).join(' ,\t')} }`;
}

/** Runs a statement whose locks are held until the returned function is called, which undoes it. */
async function lock(sql: string): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: service.databaseUrl });
  await client.connect();
  await client.query(`BEGIN; ${sql}`);
  return () => client.end();
}

async function waitingForLocks(): Promise<number> {
  const sql = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
  return (await query(service.databaseUrl, sql)).length;
}

describe('Writes of the same moment, with keys and without', () => {
  interface Sent {
    kind: 'pet' | 'homeless' | 'order' | 'move' | 'message' | 'category';
    /** One of a few keys of its kind, none for a write without; the same key has the same body. */
    keyed: number | undefined;
    /** Which of two instances. */
    at: 0 | 1;
    /** One of a few animals, orders, or categories. */
    which: number;
  }
  type Request = [method: string, path: string, body: object];
  const sent = fc.record<Sent>({
    kind: fc.constantFrom('pet', 'pet', 'homeless', 'order', 'move', 'message', 'category'),
    keyed: fc.option(fc.nat(3), { nil: undefined }),
    at: fc.constantFrom(0, 1),
    which: fc.nat(2),
  });

  /** What happens to them meanwhile, once so many are answered, and how often it is tried. */
  const FAULTS: [what: string, happens: () => Promise<void>, tries: number][] = [
    ['nothing else happens', () => Promise.resolve(), 2],
    ['statements and connections are cut off', cutOffOften, 3],
  ];

  test.each(FAULTS)('are each made once or not at all while %s', async (_what, happens, tries) => {
    await fc.assert(
      fc.asyncProperty(fc.array(sent, { minLength: 12, maxLength: 48 }), fc.nat(8), async (all, after) => {
        const run = randomUUID();
        const customer = await Customer.of(service);
        const { key: bearer } = customer;
        const pets = await times(3, () => newPet());
        const orders = (await times(3, () => customer.orderAt('placed'))).map(({ id }) => id);
        const requestsFor = (which: number): Record<Sent['kind'], Request> => ({
          pet: ['POST', '/v1/pets', { name: run, categoryId: 1 }],
          homeless: ['POST', '/v1/pets', { name: run, categoryId: 987_654 }],
          order: ['POST', '/v1/store/orders', { petId: pets[which] }],
          move: ['PATCH', `/v1/store/orders/${orders[which]}`, { status: 'approved' }],
          message: ['POST', '/v1/messages', { message: run }],
          category: ['POST', '/v1/categories', { name: `${run} ${which}` }],
        });
        const ask = async (one: Sent) => {
          const [method, path, body] = requestsFor(one.which)[one.kind];
          const idempotencyKey = `${run} ${one.kind} ${one.which} ${one.keyed}`.replaceAll(' ', '-');
          const headers = one.keyed === undefined ? undefined : keyed(idempotencyKey);
          const instance = [service, second][one.at]!;
          const answer = await call(instance, method, path, { key: bearer, body, headers });
          const { status, text } = answer;
          return { ...one, idempotencyKey, status, text, code: answer.body.code };
        };
        const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
        const meanwhile = begun.then(happens);
        let answered = 0;
        const asked = all.map((one) => ask(one).finally(() => ++answered > after && begin()));
        const answers = await Promise.all(asked);
        await meanwhile;
        // A client tries again what it could not be told.
        for (const one of answers)
          if (one.keyed !== undefined && one.status === 503)
            Object.assign(one, await untilServed(() => ask(one)));

        const refused = answers.filter(({ status }) => status >= 300);
        const codes = refused.map(({ kind, code }) => `${kind} ${code}`);
        const allowed =
          /(?:homeless category_not_found|order pet_not_available|move invalid_transition|category category_exists|idempotency_key_in_use|service_unavailable)$/;
        expect(codes.filter((code) => !allowed.test(code))).toEqual([]);
        const made = answers.filter(({ status }) => status < 300);
        const keyedTexts = Map.groupBy(
          made.filter(({ keyed }) => keyed !== undefined),
          ({ idempotencyKey }) => idempotencyKey,
        );
        // Whoever repeats a write gets its one answer.
        for (const [, same] of keyedTexts) expect(new Set(same.map(({ text }) => text)).size).toBe(1);
        const unkeyed = made.filter(({ keyed }) => keyed === undefined).length;
        const unknown = answers.filter(({ status, keyed }) => status === 503 && keyed === undefined).length;
        const [stored] = await query<Record<'rows' | 'keys' | 'torn' | 'odd' | 'jobless', string>>(
          service.databaseUrl,
          `SELECT (SELECT count(*) FROM pets WHERE name = $1) + (SELECT count(*) FROM messages WHERE message = $1)
               + (SELECT count(*) FROM categories WHERE name LIKE $1 || '%')
               + (SELECT count(*) FROM orders WHERE pet_id = ANY($2))
               + (SELECT count(*) FROM audit_log WHERE action = 'order.approved' AND subject_id = ANY($3)) AS rows,
             (SELECT count(*) FROM idempotency_keys WHERE key LIKE $1 || '%') AS keys,
             (SELECT count(*) FROM orders o WHERE pet_id = ANY($2) AND NOT EXISTS (
               SELECT FROM audit_log WHERE action = 'order.placed' AND subject_id = o.id::text)) AS torn,
             (SELECT count(*) FROM pets p WHERE id = ANY($2) AND (status = 'pending') <> EXISTS (
               SELECT FROM orders WHERE pet_id = p.id AND status IN ('placed', 'approved'))) AS odd,
             (SELECT count(*) FROM messages m WHERE message = $1 AND NOT EXISTS (
               SELECT FROM pgboss.job WHERE id = m.id)) AS jobless`,
          [run, pets, orders.map(String)],
        );
        expect(stored).toMatchObject({ keys: String(keyedTexts.size), torn: '0', odd: '0', jobless: '0' });
        const rows = Number(stored!.rows) - keyedTexts.size - unkeyed;
        expect(rows).toBeGreaterThanOrEqual(0);
        expect(rows).toBeLessThanOrEqual(unknown);
      }),
      { numRuns: isThorough ? 7 * tries : tries },
    );
  });

  async function cutOffOften(): Promise<void> {
    for (let i = 0; i < 6; i++)
      await query(
        service.databaseUrl,
        `SELECT ${i % 3 === 2 ? 'pg_terminate_backend' : 'pg_cancel_backend'}(pid) FROM pg_stat_activity
         WHERE application_name = 'petstore' AND datname = current_database() AND state <> 'idle'
         ORDER BY random() LIMIT 2`,
      );
  }
});
