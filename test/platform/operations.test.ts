import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  All,
  Body,
  Controller,
  Get,
  Injectable,
  type MessageEvent,
  Param,
  ParseArrayPipe,
  Patch,
  type PipeTransform,
  Post,
  Query,
  Res,
  Sse,
  UsePipes,
  Version,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { ApiExcludeEndpoint, ApiProperty, ApiSchema, ApiTags } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsNotEmpty } from 'class-validator';
import type { Response } from 'express';
import fc from 'fast-check';
import { from, type Observable } from 'rxjs';
import { AfterInsert, DataSource, Entity, type EntitySubscriberInterface } from 'typeorm';
import { Pet } from '../../src/pets/pet.entity.js';
import { PetsModule } from '../../src/pets/pets.module.js';
import { referencePage } from '../../src/platform/docs/site/reference.js';
import { operationsIn, problemsIn } from '../../src/platform/api/sound-operations.js';
import { DataModule } from '../../src/platform/data/index.js';
import { OperatorError } from '../../src/platform/process/index.js';
import { Features } from '../../src/platform/features/index.js';
import {
  BooleanField,
  BooleanParam,
  EnumField,
  field,
  Int64Param,
  Feature,
  Idempotent,
  IfMatch,
  IntegerField,
  IntegerParam,
  needsBy,
  Operation,
  Precondition,
  Public,
  Scheduled,
  Sunset,
  TextField,
  violation,
} from '../../src/platform/index.js';
import { type Answer, call, createAccount, createKey } from '../../src/testing/client.js';
import { checkerOf, document as committed, type Placed } from '../../src/testing/document.js';
import { query } from '../../src/testing/service.js';
import { AnswersController, SENT } from '../support/answers.controller.js';
import { BodiesController } from '../support/bodies.controllers.js';
import { breaks } from '../support/break.js';
import { EverythingController, ToldDto } from '../support/every-field.js';
import { type Extended, startExtended } from '../support/extended.js';
import { bodyOf, type Parts, pathOf, validParts } from '../support/generate.js';
import { readMetrics, valueOf } from '../support/metrics.js';
import { CREATE_PAPERS, Paper, PAPERS, PapersController } from '../support/keyed.controllers.js';
import * as notes from '../support/notes.controllers.js';
import { isThorough } from '../support/thorough.js';
import { Does, PublicTried, Tried } from '../support/tried.js';
import { FieldsDto, GuardedController, trialsOf } from '../support/trials.controller.js';
import { PIXEL } from '../support/uploads.controller.js';

const TIMES = isThorough ? 10 : 1;

let extended: Extended;
let key: string;
let accountId: number;
// oxlint-disable-next-line typescript/no-explicit-any -- a test reads what it expects, and fails where that is not there
let document: any;

beforeAll(async () => {
  extended = await startExtended(
    {},
    notes.ThingsController,
    notes.ThingsV2Controller,
    notes.UsualController,
    notes.BookingsController,
    AnswersController,
    EverythingController,
    BodiesController,
    GuardedController,
    trialsOf('1'),
    trialsOf('2'),
  );
  const account = await createAccount(extended);
  [key, accountId] = [await createKey(extended, account), account.id];
  document = await (await fetch(`${extended.url}/openapi.json`)).json();
}, 60_000);
afterAll(() => extended.stop());

const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  call(extended, method, path, { key, body, headers });

describe("A controller that follows Nest's documentation", () => {
  test.each([
    ['thrown/404', 404, 'not_found', 'The other one is away.'],
    ['number/x', 400, 'bad_request', 'Validation failed (numeric string is expected)'],
    ['several', 400, 'bad_request', 'name is too long; age is missing'],
    ['thrown/402', 402, 'payment_required', 'The other one is away.'],
    ['thrown/405', 405, 'method_not_allowed', 'The other one is away.'],
    ['thrown/502', 502, 'service_unavailable', 'The other one is away.'],
    ['thrown/503', 503, 'service_unavailable', 'The other one is away.'],
    ['thrown/501', 501, 'internal_error', 'The other one is away.'],
    ['secret', 500, 'internal_error', 'Something went wrong on our side.'],
    ['silent', 409, 'conflict', 'Conflict.'],
    ['thrown/401', 401, 'unauthorized', 'The other one is away.'],
    ['thrown/429', 429, 'too_many_requests', 'The other one is away.'],
    ['thrown/1000', 500, 'internal_error', 'Something went wrong on our side.'],
  ])('is answered by its own status in the Error shape: %s', async (path, status, code, message) => {
    const answer = await send('GET', `/v1/usual/${path}`);
    expect([answer.status, JSON.parse(answer.text)]).toEqual([status, { code, message, status }]);
    expect(answer.headers.get('retry-after')).toBe([429, 503].includes(status) ? '1' : null);
    expect(answer.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer realm="petstore"' : null);
    expect(answer.headers.get('allow')).toBe(status === 405 ? 'GET, HEAD, OPTIONS' : null);
  });

  test('may return nothing, or more than it declares: interceptors see all properties, clients the declared ones', async () => {
    expect(await send('GET', '/v1/usual/nothing')).toMatchObject({ status: 200, text: '' });
    expect(await send('GET', '/v1/usual/number/7')).toMatchObject({ status: 200, text: '{"id":7}' });
    notes.seen.length = 0;
    expect((await send('GET', '/v1/things')).text).toBe('{"id":9007199254740993,"text":"plain"}');
    const plain = { id: '9007199254740993', text: 'plain', secret: 'secret' };
    expect(notes.seen).toEqual([plain]);
    expect(new notes.ThingsController().get()).toEqual(plain);
  });

  test('may have two versions, each opened, named, and counted as deprecated by itself', async () => {
    const figures = async () => {
      const metrics = await readMetrics(extended);
      return ['getThing', 'getThingV2'].map((operation) => [
        valueOf(metrics, 'http_server_request_duration_seconds_count', { status: '200', operation }),
        valueOf(metrics, 'petstore_deprecated_calls_total', { operation, account: String(accountId) }),
      ]);
    };
    const [[first, old], [second]] = (await figures()) as [[number, number], [number, number]];
    await send('GET', '/v1/things', undefined, { 'X-Request-Id': 'first-version' });
    await send('GET', '/v2/things', undefined, { 'X-Request-Id': 'second-version' });
    expect(await figures()).toEqual([
      [first + 1, old + 1],
      [second + 1, 0],
    ]);
    const told = (id: string) => extended.lines.find(({ requestId }) => requestId === id);
    expect(told('first-version')).toMatchObject({ operationId: 'getThing', route: '/v1/things' });
    expect(told('second-version')).toMatchObject({ operationId: 'getThingV2', route: '/v2/things' });
    const open = ['/v1/things', '/v2/things'].map(async (path) => (await fetch(extended.url + path)).status);
    expect(await Promise.all(open)).toEqual([401, 200]);
  });
});

const CSV = 'id,name\n1,Luna\n2,Zoë\n';

describe('An answer', () => {
  const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${extended.url}/v1/answers/${path}`, { method, headers });
  const typed = async (path: string, headers?: Record<string, string>) => {
    const response = await ask(path, headers);
    return [response.status, response.headers.get('content-type'), await response.text()];
  };

  test('is of the type that its operation gives, however the method returns it; a failure is JSON', async () => {
    for (const way of ['text', 'file', 'generated'])
      expect(await typed(`csv?way=${way}`)).toEqual([200, 'text/csv; charset=utf-8', CSV]);
    const refused = [400, 'application/json; charset=utf-8', expect.stringContaining('"validation_failed"')];
    expect(await typed('csv?way=none')).toEqual(refused);
  });

  test('has the type that the client asks for, and the status that the method chooses', async () => {
    const json = ['application/json; charset=utf-8', '{"id":"1","name":"Luna"}'];
    const csv = 'text/csv; charset=utf-8';
    expect(await typed('rows', { Accept: 'application/json' })).toEqual([200, ...json]);
    expect(await typed('rows', { Accept: 'text/csv' })).toEqual([200, csv, 'id,name\n1,Luna\n']);
    expect(await typed('report')).toEqual([200, csv, CSV]);
    expect(await typed('report?later=true')).toEqual([202, ...json]);
  });

  test('of JSON is not sent again to a client that has it', async () => {
    const first = await ask('known');
    const tag = first.headers.get('etag')!;
    expect([first.status, await first.json()]).toEqual([200, { id: '1', name: 'Luna' }]);
    for (const [known, status] of [
      [tag, 304],
      [`"other", W/${tag}`, 304],
      ['"other"', 200],
    ] as const) {
      const again = await ask('known', { 'If-None-Match': known });
      const isEmpty = (await again.text()) === '';
      expect([again.status, again.headers.get('etag'), isEmpty]).toEqual([status, tag, status === 304]);
    }
  });

  describe('of a file', () => {
    const get = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
      const response = await ask(path, headers, method);
      return {
        status: response.status,
        headers: response.headers,
        bytes: Buffer.from(await response.bytes()),
      };
    };

    test("of Nest's is sent as a whole", async () => {
      const { status, headers, bytes } = await get('picture');
      expect([status, headers.get('content-type'), bytes]).toEqual([200, 'image/png', PIXEL]);
    });

    test("of Express's is sent as a whole or in part, and not again to a client that has it", async () => {
      const first = await get('sent');
      expect(first).toMatchObject({ status: 200, bytes: readFileSync(SENT) });
      const tag = first.headers.get('etag')!;
      // `fetch` would ask for all of it, as Express understands that.
      const known = { 'If-None-Match': tag, 'Cache-Control': 'max-age=0' };
      expect(await get('sent', known)).toMatchObject({ status: 304, bytes: Buffer.alloc(0) });
      const part = await get('sent', { Range: 'bytes=10-19' });
      expect([part.status, part.bytes]).toEqual([206, first.bytes.subarray(10, 20)]);
      const beyond = await get('sent', { Range: 'bytes=99999999-' });
      expect(beyond.headers.get('content-range')).toBe(`bytes */${first.bytes.length}`);
      const error = { code: 'range_not_satisfiable', status: 416, message: expect.any(String) };
      expect([beyond.status, JSON.parse(beyond.bytes.toString())]).toEqual([416, error]);
    });
  });

  test('is in the document with its types, headers and an example', () => {
    const operationAt = (path: string) => document.paths[`/answers/${path}`].get;
    const { responses } = operationAt('picture');
    const picture = { 'image/png': { schema: { type: 'string', format: 'binary' } } };
    expect(responses[200].content).toEqual(picture);
    const known = operationAt('known');
    expect(known.responses[304]).not.toHaveProperty('content');
    for (const status of [200, 304])
      expect(Object.keys(known.responses[status].headers)).toEqual(['X-Request-Id', 'ETag']);
    expect(known.parameters.map(({ name }: { name: string }) => name)).toEqual(['If-None-Match']);
    const csv = { 'text/csv': { schema: { type: 'string' } } };
    const schema = { $ref: '#/components/schemas/Row' };
    const row = { 'application/json': { schema, example: { id: '1', name: 'Luna' } } };
    expect(operationAt('rows').responses[200].content).toEqual({ ...row, ...csv });
    const { description, content: own } = operationAt('csv').responses[200];
    expect(description).toBe('The rows.');
    expect(own).toEqual({ 'text/csv': { ...csv['text/csv'], example: 'id,name\n1,Luna\n' } });
    const moved = operationAt('moved').responses[302];
    expect([moved.description, moved.content]).toEqual(['Found.', undefined]);
    const report = operationAt('report').responses;
    expect([report[200].content, report[202].content]).toEqual([csv, row]);
    const { content } = referencePage(document, new Set());
    expect(content).toContain('<p class="limits">image/png</p>');
    expect(content).toContain('id,name\n1,Luna');
  });
});

describe('A body', () => {
  const ask = (method: string, path: string, body?: unknown, headers = {}) =>
    send(method, `/v1/bodies${path}`, body, headers);
  const told = (...values: unknown[]) => ({ status: 200, body: { told: JSON.stringify(values) } });
  const refused = (...reasons: string[]) => ({
    status: 400,
    body: { status: 400, code: 'validation_failed', message: `${reasons.join('; ')}.` },
  });

  test('may be left out where the method takes none, with its media type, and is ignored there', async () => {
    for (const path of ['/7/feed', '/7/brush']) {
      expect(await ask('POST', path)).toMatchObject(told('7'));
      expect(await ask('POST', path, { any: 'thing' })).toMatchObject(told('7'));
      expect(document.paths[`/bodies/{thingId}${path.slice(2)}`].post).not.toHaveProperty('requestBody');
    }
  });

  test('that is optional has the defaults of its fields; any other body is required', async () => {
    expect(await ask('POST', '/7/feast')).toMatchObject(told(5));
    expect(await ask('POST', '/7/feast', { grams: 9 })).toMatchObject(told(9));
    expect(document.paths['/bodies/{thingId}/feast'].post.requestBody.required).toBe(false);
    expect(await ask('POST', '')).toMatchObject({ status: 400, body: { code: 'invalid_content_type' } });
  });

  test('of a DELETE is read, and belongs to the request of an Idempotency-Key', async () => {
    expect(await ask('DELETE', '/7', { reason: 'Old' })).toMatchObject(told('7', 'Old'));
    expect(await ask('DELETE', '/7', {})).toMatchObject(refused('reason is required'));
    const keyed = { 'Idempotency-Key': randomUUID() };
    expect(await ask('DELETE', '/7', { reason: 'Old' }, keyed)).toMatchObject(told('7', 'Old'));
    expect(await ask('DELETE', '/7', { reason: 'Sold' }, keyed)).toMatchObject({ status: 422 });
  });

  test('is checked with the path and the query: all that is wrong is named together', async () => {
    expect(await ask('PATCH', '/x?times=0', { reason: '' })).toMatchObject(
      refused(
        'thingId must be a 64-bit integer in plain decimal digits',
        'times must be an integer from 1 to 9 in plain decimal digits',
        'reason must be text of 1 to 20 characters, without NUL or lone surrogates',
      ),
    );
    // Requests of one moment do not hear of each other.
    const [one, other] = await Promise.all([
      ask('PATCH', '/x', { reason: 'a' }),
      ask('PATCH', '/7', { reason: 1 }),
    ]);
    expect(one).toMatchObject(refused('thingId must be a 64-bit integer in plain decimal digits'));
    expect(other.body).toMatchObject({ message: expect.not.stringContaining('thingId') });
  });

  test('has an example that is accepted, though its enumeration has none', async () => {
    const { example } = document.paths['/bodies'].post.requestBody.content['application/json'];
    expect(example).toEqual({ size: 'tiny' });
    expect(await ask('POST', '', example)).toMatchObject({ ...told(example), status: 201 });
  });
});

test('A deprecated list links to its next page and its successor, and in an error to the guide', async () => {
  const links = async (path: string) =>
    (await send('GET', `/v1/bodies${path}`)).headers.get('link')?.replace(/[^,]*(?=rel=)/g, '');
  expect(await links('')).toBe('rel="successor-version",rel="next"');
  expect(await links('?cursor=none')).toBe('rel="successor-version"');
  expect(await links('?limit=0')).toBe('rel="successor-version",rel="help"');
  const { Link } = document.paths['/bodies'].get.responses[200].headers;
  const { description } = document.components.headers[Link.$ref.split('/').at(-1)];
  for (const relation of ['next', 'successor-version']) expect(description).toContain(`rel="${relation}"`);
});

test('A deprecated operation has its headers in the document wherever they are sent', async () => {
  const { responses } = document.paths['/bodies'].post;
  const named = (status: number) => Object.keys(responses[status].headers).toSorted();
  const post = (key: string | undefined, body: object) => call(extended, 'POST', '/v1/bodies', { key, body });
  for (const answer of [await post(key, { size: 'huge' }), await post(key, {}), await post(undefined, {})]) {
    const { status, headers } = answer;
    const sent = ['Deprecation', 'Sunset'].filter((name) => headers.has(name));
    expect([status, sent]).toEqual([status, status === 401 ? [] : ['Deprecation', 'Sunset']]);
    expect(named(status)).toEqual(expect.arrayContaining(['Deprecation', 'Link', 'Sunset']));
  }
  // Where the key or the HTTP may be refused first, they may be missing.
  const { components } = document;
  const isRequired = (status: number) =>
    Boolean(components.headers[responses[status].headers.Sunset.$ref.split('/').at(-1)].required);
  expect([201, 413, 400, 401, 503].map(isRequired)).toEqual([true, true, false, false, false]);
  expect(named(431)).not.toContain('Sunset');
});

test('A route that the document leaves out leaves no schema or webhook there', async () => {
  expect(await send('POST', '/v1/bodies/hidden', { mood: 'glad' })).toMatchObject({ body: { mood: 'glad' } });
  expect(JSON.stringify(document)).not.toMatch(/hidden/i);
});

describe('A permission that depends on the body', () => {
  const keys: Record<string, string> = {};
  beforeAll(async () => {
    const account = await createAccount(extended);
    const lists = ['pets:write', 'orders:manage', 'pets:read', 'pets:write,orders:manage'];
    for (const list of lists) {
      const body = { name: 'Limited', permissions: list.split(',') };
      keys[list] = (await call(extended, 'POST', '/v1/api-keys', { account, body })).body.key;
    }
  });

  type Content = Pick<RequestInit, 'body'> & { type?: string };
  const json = (value: unknown): Content => ({ body: JSON.stringify(value), type: 'application/json' });
  const form = (...stages: string[]): Content => {
    const body = new FormData();
    for (const stage of stages) body.append('stage', stage);
    return { body };
  };
  const bracketed = new FormData();
  bracketed.append('stage[]', 'final');
  const text = (body: string): Content => ({ body, type: 'text/plain' });
  const none: Content = {};
  const post = async (path: string, permission: string, { body, type }: Content, headers = {}) => {
    const response = await fetch(extended.url + path, {
      method: 'POST',
      body,
      headers: {
        Authorization: `Bearer ${keys[permission]}`,
        ...(type === undefined ? {} : { 'Content-Type': type }),
        ...headers,
      },
    });
    const answer = (await response.json()) as { told?: string; code?: string };
    return answer.told === undefined ? answer.code : (JSON.parse(answer.told) as object);
  };

  type Got = { stage: string | null } | null;
  /** What each body says, as its method gets it; null if it is refused. */
  const bodies: [name: string, content: Content, ofFields: Got, ofRules?: Got][] = [
    ['JSON', json({ stage: 'final' }), { stage: 'final' }],
    ['JSON of a trial', json({ stage: 'trial' }), { stage: 'trial' }],
    ['JSON with a blank', json({ stage: 'final ' }), null, { stage: 'final' }],
    ['JSON with a list', json({ stage: ['final'] }), null],
    ['JSON with null', json({ stage: null }), null, { stage: null }],
    ['JSON without a stage', json({}), { stage: 'final' }],
    ['a JSON list', json([{ stage: 'final' }]), null],
    ['JSON with more', json({ stage: 'trial', id: 7 }), { stage: 'trial' }],
    ['a form', form('final'), { stage: 'final' }],
    ['a form of a trial', form('trial'), { stage: 'trial' }],
    ['a form with a blank', form('final '), null, { stage: 'final' }],
    ['a form with both', form('trial', 'final'), null],
    ['a form with a list', { body: bracketed }, null],
    ['a form without a stage', form(), { stage: 'final' }],
    ['a text', text('final'), { stage: 'final' }, null],
    ['no body', none, { stage: 'final' }],
  ];
  const cases = ['/v1', '/v2'].flatMap((version) =>
    ['fields', 'rules'].flatMap((kind) =>
      bodies.map(([name, content, ofFields, ofRules = ofFields]) => ({
        path: `${version}/trials/${kind}`,
        name,
        content,
        got: kind === 'fields' ? ofFields : ofRules,
      })),
    ),
  );

  test.each(cases)('is that of the value that the method gets: $path with $name', async (one) => {
    const { path, content, got } = one;
    for (const permission of ['pets:write', 'orders:manage']) {
      const stage = got?.stage ?? null;
      const mayBe = stage === null || (permission === 'pets:write') === (stage === 'trial');
      const expected = got === null ? 'validation_failed' : mayBe ? got : 'permission_denied';
      expect([permission, await post(path, permission, content)]).toEqual([permission, expected]);
    }
    expect(await post(path, 'pets:read', content)).toBe('permission_denied');
  });

  test.each(['fields', 'rules'])(
    'is asked of a caller who repeats the Idempotency-Key of another, whatever else that may do: %s',
    async (kind) => {
      for (const content of [json({ stage: 'final' }), form('final'), none]) {
        const keyed = { 'Idempotency-Key': randomUUID() };
        const send = (permission: string) => post(`/v1/trials/${kind}`, permission, content, keyed);
        // The boundary of a form does not count.
        for (let i = 0; i < 2; i++) expect(await send('orders:manage')).toEqual({ stage: 'final' });
        expect(await send('pets:write')).toBe('permission_denied');
        expect(await send('pets:write,orders:manage')).toEqual({ stage: 'final' });
      }
    },
  );
});

test('A body is read after the guards of a team', async () => {
  const refused = await fetch(`${extended.url}/v1/guarded`, { method: 'POST', body: '{' });
  expect([refused.status, await refused.json()]).toEqual([
    403,
    { status: 403, code: 'forbidden', message: 'Forbidden resource' },
  ]);
});

test("An operation may have the operationId of Swagger's own decorator", async () => {
  expect(await send('GET', '/v1/guarded')).toMatchObject({ status: 200, body: { id: 1 } });
  expect(document.paths['/guarded'].get).toMatchObject({ operationId: 'readUsual', tags: ['tried'] });
  const { content } = referencePage(document, new Set());
  expect(content).toContain('Named in the words of Swagger');
  expect(content).not.toContain('undefined');
  const metrics = await readMetrics(extended);
  const calls = { status: '200', operation: 'readUsual' };
  expect(valueOf(metrics, 'http_server_request_duration_seconds_count', calls)).toBeGreaterThan(0);
});

test("What Swagger's own decorators say of a field, or of a class with fields, is kept", () => {
  const { InsideDto, OutsideDto, Mark, FurtherDto, Shade, BesideDto, PartDto, Tint } =
    document.components.schemas;
  const list = { type: 'array', items: { $ref: '#/components/schemas/InsideDto' } };
  expect(OutsideDto.properties).toEqual({ inside: list });
  const mark = { description: 'Its mark.', deprecated: true, $ref: '#/components/schemas/Mark' };
  expect(InsideDto.properties).toEqual({ mark });
  expect(Mark.enum).toEqual(['good']);
  expect([FurtherDto.required, Shade.enum]).toEqual([['shade', 'allOf'], ['dark']]);
  expect(FurtherDto.properties.allOf).toMatchObject({ type: 'string', maxLength: 9 });
  const { part, parts, schema } = BesideDto.properties;
  const $ref = '#/components/schemas/PartDto';
  expect([part.$ref, parts.items, parts.maxItems]).toEqual([$ref, { $ref }, 2]);
  expect(schema.example).toEqual({ oneOf: [{ type: 'string' }], title: 'One' });
  expect([PartDto.properties.tint.$ref, Tint.enum]).toEqual(['#/components/schemas/Tint', ['pale']]);
});

describe('Fields of every kind', () => {
  const placed: Record<string, Placed> = {};
  beforeAll(() => {
    // Where the generators look up references.
    const { schemas } = document.components;
    Object.assign(committed.components.schemas, { ...schemas, ...committed.components.schemas });
    for (const [method, operation] of Object.entries<Placed['operation']>(document.paths['/everything']))
      placed[method] = { method: method.toUpperCase(), path: '/everything', operation };
  });

  const request = (parts: Parts) => send(parts.method, pathOf(parts), bodyOf(parts), parts.headers);
  const post = (body: string) => send('POST', '/v1/everything', body);
  const change = (body: string) => send('PATCH', '/v1/everything', body);
  const messageOf = async (answer: Promise<Answer>) => {
    const { status, text } = await answer;
    const { code, message } = JSON.parse(text);
    expect([status, code]).toEqual([400, 'validation_failed']);
    return message as string;
  };
  const told = async (answer: Promise<Answer>) => JSON.parse(JSON.parse((await answer).text).told);
  const example = () =>
    placed.post!.operation.requestBody!.content['application/json']!.example as Record<string, unknown>;
  const withJson = (name: string, json: string) => {
    const all = Object.entries({ ...example(), [name]: 0 });
    return `{${all.map(([other, value]) => `"${other}":${other === name ? json : JSON.stringify(value)}`).join()}}`;
  };
  /** A part of JSON in which every integer of 64 bits is a bigint, so that each digit counts. */
  const exactly = (json: string) =>
    JSON.parse(json, (_name, value: unknown, { source = '' }) =>
      typeof value === 'number' && /^-?\d{1,19}$/.test(source) ? BigInt(source) : value,
    ) as Record<string, unknown>;

  test('come back as they are sent, in the form that the document says, and then stay as they are', async () => {
    const { Everything, Address, Street, Item, Size } = document.components.schemas;
    const check = checkerOf(Everything, { Address, Street, Item, Size });
    const asSent = ['flag', 'day', 'code', 'url', 'email', 'texts', 'numbers', 'sizes', 'lists'];
    await fc.assert(
      fc.asyncProperty(validParts(placed.post!), async (parts) => {
        const first = await request(parts);
        expect([first.status, first.text]).toEqual([200, expect.any(String)]);
        check(first.text);
        expect((await post(first.text)).text).toBe(first.text);
        const sent = new Map(parts.fields);
        const answered = JSON.parse(first.text) as Record<string, unknown>;
        for (const name of asSent) expect(answered[name]).toEqual(JSON.parse(sent.get(name)!));
        for (const name of ['settings'])
          expect(Object.keys(answered[name] ?? {})).toEqual(Object.keys(JSON.parse(sent.get(name) ?? '{}')));
        const settings = sent.get('settings');
        if (settings) expect(exactly(first.text).settings).toEqual(exactly(settings));
      }),
      { numRuns: 20 * TIMES },
    );
  });

  test.each(['post', 'patch', 'get'])(
    'are accepted by %s as the document says, and refused where one thing is wrong in one place, which the answer names',
    async (method) => {
      const one = placed[method]!;
      await fc.assert(
        fc.asyncProperty(validParts(one), breaks(one), async (parts, broken) => {
          expect(await request(parts)).toMatchObject({ status: 200 });
          const answer = await request(broken.apply({ ...parts, method: one.method, headers: {} }));
          expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(broken.code)]);
          expect(JSON.parse(answer.text).message).toContain(broken.place ?? '');
        }),
        { numRuns: 40 * TIMES },
      );
    },
  );

  test('name the path of everything that is wrong inside them, of the path, the query and the body', async () => {
    const wrong = {
      ...example(),
      address: { city: 1, street: { no: 0 } },
      items: [{ petId: 1, price: '1' }, { petId: 'x', price: '1', notes: ['', 'a'] }, null],
      lists: [['2030-02-30']],
    };
    const reasons = (await messageOf(post(JSON.stringify(wrong)))).split('; ');
    expect(reasons.map((reason) => reason.replace(/ (?:must be|is) .*/, ''))).toEqual([
      ...['address.city', 'address.street.name', 'address.street.no', 'items[1].petId'],
      ...['items[1].notes[0]', 'items[2]', 'lists[0][0]'],
    ]);
    expect(reasons[1]).toBe('address.street.name is required');
  });

  test.each([
    ...['[]', `{"a":"${'ä'.repeat(1_000)}"}`, '{"a":[{"b":{"c":[[1]]}}]}', '{"a":[1,"\\u0000"]}'],
    ...['{"\\udfff":1}', '{"a":{"__proto__":{"admin":true}}}', '{"constructor":{"prototype":{}}}'],
    '{"a":-1e999}',
  ])('of any JSON are refused in a sentence with all that they must be: %s', async (json) => {
    expect(await messageOf(post(withJson('settings', json)))).toMatch(
      /^settings must be an object of at most 2000 bytes of JSON and 5 levels, with numbers /,
    );
  });

  test('of any JSON keep every integer of 64 bits, and may have names that every object has', async () => {
    const sent =
      '{"a":[9223372036854775807,-9007199254740993,{"b":9007199254740993.0}],"c":1e20,"d":0.1,"constructor":"Ferrari","toString":null}';
    const { text } = await post(withJson('settings', sent));
    expect(/"settings":(.*)\}$/.exec(text)![1]).toBe(
      '{"a":[9223372036854775807,-9007199254740993,{"b":9007199254740993}],"c":100000000000000000000,"d":0.1,"constructor":"Ferrari","toString":null}',
    );
  });

  test.each([
    ['exact', '"99999999999999.9951"', '"99999999999999.9951"'],
    ['exact', '"0.1"', '"0.1000"'],
    ['exact', '"-0"', '"0.0000"'],
    ['price', '"9999999999.99"', '"9999999999.99"'],
    ['price', '"7"', '"7.00"'],
    ['amounts', '["9999999999.99", "0.1", "10"]', '["9999999999.99","0.10","10.00"]'],
  ])('keep every digit of an amount: %s %s', async (name, sent, answered) => {
    const { text } = await post(withJson(name, sent));
    expect(text).toContain(`"${name}":${answered}`);
  });

  test.each(['"0.00001"', '"99999999999999.99991"', '"100000000000000"', '"1e1"', '0.1', '1e999'])(
    'round nothing to an amount: %s',
    async (sent) => {
      expect(await messageOf(post(withJson('exact', sent)))).toMatch(
        /^exact must be text with a number from -9/,
      );
    },
  );

  test('are cleared by null where they are nullable, and stay as they are where they are left out', async () => {
    const sent = { text: null, day: null, price: null, size: null, address: null, texts: null };
    expect(await told(change(JSON.stringify(sent)))).toEqual(sent);
    expect(await told(change('{"day":"2030-01-31"}'))).toEqual({ day: '2030-01-31' });
    expect(await told(change('{}'))).toEqual({});
    const wrong = change('{"texts":[null],"address":{"city":null},"price":1}');
    expect((await messageOf(wrong)).split('; ')).toEqual([
      expect.stringMatching(/^price must be .*, or null$/),
      expect.stringMatching(/^address\.city must be (?!.*null)/),
      expect.stringMatching(/^texts\[0\] must be (?!.*null)/),
    ]);
    expect(document.components.schemas.EverythingChange.properties).toMatchObject({
      text: { type: ['string', 'null'] },
      texts: { type: ['array', 'null'] },
      size: { anyOf: [{ $ref: '#/components/schemas/Size' }, { type: 'null' }] },
      address: { anyOf: [{ $ref: '#/components/schemas/Address' }, { type: 'null' }] },
    });
  });

  test('of a query are read as what they are', async () => {
    const asked = '?flag=false&day=2030-01-31&price=-0.5&sizes=small,large&days=2030-01-31,2024-02-29&ids=7';
    expect(await told(send('GET', `/v1/everything${asked}`))).toEqual({
      ...{ flag: false, day: '2030-01-31', price: '-0.50', sizes: ['small', 'large'] },
      ...{ days: ['2030-01-31', '2024-02-29'], ids: ['7'] },
    });
    const wrong = '?flag=0&day=2030-02-30&price=9&sizes=small,tiny&days=1,2,3,4&ids=1&ids=2';
    expect((await messageOf(send('GET', `/v1/everything${wrong}`))).split('; ')).toEqual([
      'flag must be true or false',
      'day must be a day such as 2030-01-31',
      expect.stringMatching(/^price must be text with a number from -5\.00 to 5\.00/),
      'sizes[1] must be one of small, large',
      'days must be 1 to 3 values, separated by commas',
      'ids must be 1 to 3 values, separated by commas.',
    ]);
  });

  test('of a query are text that UTF-8 has', async () => {
    const sent = [
      'Zo%C3%AB',
      'Zo%EB',
      '%ED%A0%80',
      '%ef%bf%bd',
      '%EF%BF%BD%EB',
      '100%',
      '%zz%EB',
      'a+b%C3%AB',
    ];
    const answers = sent.map((word) => send('GET', `/v1/everything?word=${word}&other=%ff`));
    const words = (await Promise.all(answers)).map(({ status, body }) =>
      status === 200 ? JSON.parse(body.told).word : body.code,
    );
    const refused = 'validation_failed';
    expect(words).toEqual(['Zoë', refused, refused, '\ufffd', refused, '100%', refused, 'a bë']);
  });
});

describe('A declaration that cannot work is refused by name', () => {
  test.each<[string, Partial<Parameters<typeof Operation>[0]>]>([
    ['may take a body of at most', { takes: { types: ['text/csv'], maxBytes: 2 ** 26 } }],
    ['may take a body of 0 bytes', { takes: { types: ['application/json'], maxBytes: 0 } }],
    ['may take -1 seconds', { seconds: -1 }],
    ['has a success status 99', { status: 99 }],
    ['has an error status 200', { errors: { pet_not_found: 200 } }],
  ])('an operation that %s %j', (message, options) => {
    class OneController {
      @Get() @Does('nothing', options) getIt(): void {}
    }
    expect(problemsIn(operationsIn(OneController)).join('\n')).toContain(`getIt ${message}`);
  });

  test('a field of a path, a query or a form that reads no text', () => {
    const COUNT = { description: 'How many.', example: 2, min: 1, max: 3 };
    const RATIO = {
      schema: { type: 'number', exclusiveMinimum: 0 },
      must: 'a number above 0',
      accepts: (value: unknown) => Number(value) > 0,
      read: (value: unknown) => (typeof value === 'string' ? Number(value) : undefined),
    };
    class OneDto {
      @IntegerField(COUNT) count!: number;
      @IntegerField({ description: 'At least.', min: 1, max: 3 }) least!: number;
      @BooleanField({ description: 'Whether all.' }) all!: boolean;
      @IntegerParam({ ...COUNT, optional: true }) most?: number;
      @Int64Param({ description: 'Identifier.' }) id!: string;
      @BooleanParam({ description: 'Whether any.', nullable: true }) any!: boolean;
      @TextField({ description: 'A name.', example: 'Luna', max: 9 }) name!: string;
      @field({ description: 'A ratio above 0.' }, RATIO) ratio!: number;
    }
    class OneController {
      @Get() @Does('nothing') getIt(@Query() _query: OneDto): void {}

      @Post()
      @Does('nothing', { takes: { types: ['multipart/form-data'], maxBytes: 1_000 } })
      addIt(@Body() _form: OneDto): void {}

      @Post('json') @Does('nothing') addJson(@Body() _body: OneDto): void {}
    }
    const problem =
      'gets its values as text, as from any query or form, but the fields count, least, all cannot read text';
    const problems = problemsIn(operationsIn(OneController)).filter((one) => one.includes('as text'));
    expect(problems).toEqual(
      ['getIt', 'addIt'].map((id) => `${id} ${problem}: use IntegerParam and its like.`),
    );
  });

  interface Plain {
    name: string;
  }

  @Controller('refused')
  class RefusedController {
    @Patch() @Does('nothing') changeIt(@IfMatch() _precondition: Precondition): void {}

    @Get('soon')
    @Does('nothing')
    @Sunset({ deprecated: '2026-02-30', sunset: 'soon', successor: '/v2/it' })
    getSoon(): void {}

    @Get('earlier')
    @Does('nothing')
    @Sunset({ deprecated: '2026-11-21', sunset: '2026-11-20', successor: '/v2/it' })
    getEarlier(): void {}

    @Get('elsewhere')
    @Does('nothing')
    @Sunset({ deprecated: '2026-11-21', sunset: '2030-11-20', successor: 'getIt' })
    getElsewhere(): void {}

    @Post('plain') @Does('nothing') createPlain(@Body() _body: Plain): void {}
    @Post('several') @Does('nothing') createSeveral(@Body() _body: notes.NoteDto[]): void {}
    @Get('found') @Does('nothing') findIt(@Query() _query: Partial<Plain>, @Param() _params: Plain): void {}
    @Public() @Idempotent() @Post('open') @Does(undefined) createOpen(): void {}
    // As `nest generate` writes it.
    @Get('habit') habit(): void {}

    @Post('parsed')
    @Does('nothing')
    createParsed(
      @Body(new ParseArrayPipe({ items: notes.NoteDto })) _body: notes.NoteDto[],
      @Body('a') _a: Plain,
    ): void {}
  }

  test.each([
    'changeIt has @IfMatch(), but its controller has no @EntityTags().',
    'getSoon has a @Sunset() of 2026-02-30, soon: write a day as YYYY-MM-DD.',
    'getEarlier has a @Sunset() on 2026-11-20, before its deprecation on 2026-11-21.',
    'getElsewhere has a @Sunset() with the successor getIt: write its path.',
    'createPlain has a body that nothing checks: its type must be a class, imported without "type".',
    'createSeveral has a body that nothing checks: its type must be a class, imported without "type".',
    'findIt has a path and a query that nothing checks: its type must be a class, imported without "type".',
    'createOpen is public, but @Idempotent() needs the account of a caller.',
    expect.stringMatching(/^No permission is named for .*RefusedController_habit/),
  ])('%s', (problem) => {
    const problems = problemsIn(operationsIn(RefusedController));
    expect(problems).toContainEqual(problem);
    expect(problems.join()).not.toContain('createParsed has');
  });

  test('several at once, in one line without a stack', async () => {
    const start = startExtended(extended.databaseUrl, RefusedController);
    const error: unknown = await start.catch((refusal: unknown) => refusal);
    expect(error).toBeInstanceOf(OperatorError);
    expect((error as Error).message).toMatch(/^changeIt has .*, or @Public\(\)\. .*\.$/);
  });

  test.each(
    Object.entries<Partial<Parameters<typeof Feature>[0]>>({
      'The feature Dog walks needs a name of lower-case words with hyphens between them': {
        name: 'Dog walks',
      },
      'The feature dog-walks has the permission "walks: read": leave out spaces': {
        permissions: { 'walks: read': '' },
      },
      'has the permission "walks:read,write": leave out spaces, commas': {
        permissions: { 'walks:read,write': '' },
      },
      'has the error "walk-gone": write lower-case words': {
        errors: { 'walk-gone': { status: 410, meaning: '' } },
      },
      'has the error walk_gone with the status 301: it must': {
        errors: { walk_gone: { status: 301, meaning: '' } },
      },
      'has the migration Walks: end its name with the time': {
        migrations: [
          class Walks {
            async up() {}
            async down() {}
          },
        ],
      },
      'has the guide /no/walks.md, but there is no such file': {
        guides: [{ title: '', summary: '', file: new URL('file:///no/walks.md') }],
      },
    }),
  )('%s', (message, options) => {
    @Feature({ name: 'dog-walks', ...options })
    class WalksModule {}
    expect(() => Features.of([PetsModule], [], [WalksModule])).toThrow(message);
  });

  test('an idempotent operation that sends its answer itself, before the write is committed', () => {
    class SendingController {
      @Post()
      @Idempotent()
      send(@Res() response: Response): void {
        response.json({});
      }
    }
    expect(problemsIn(operationsIn(SendingController))).toContain(
      'A method with @Idempotent() must return its answer, and use @Res() only with { passthrough: true }: SendingController_send.',
    );
  });

  test('two features each with an entity of one name', () => {
    const twin = () =>
      class Twin {
        id!: string;
      };
    @Feature({ name: 'ones', entities: [twin()] })
    class OnesModule {}
    @Feature({ name: 'others', entities: [twin()] })
    class OthersModule {}
    expect(() => Features.of([OnesModule, OthersModule])).toThrow(
      'The entity Twin is defined twice: in ones and in others.',
    );
  });

  test('a TypeScript enum in the place of a list of meanings', () => {
    enum Mood {
      Glad = 'glad',
      VerySad = 'very_sad',
    }
    expect(() => EnumField({ description: 'How it feels.', name: 'Mood', values: Mood })).toThrow('Mood: ');
  });

  test('an error that two features declare', () => {
    @Feature({ name: 'ghosts', errors: { pet_not_found: { status: 410, meaning: 'Gone.' } } })
    class GhostsModule {}
    expect(() => Features.of([PetsModule, GhostsModule])).toThrow(
      'The error pet_not_found is defined twice: in pets and in ghosts.',
    );
  });

  @Tried('copies')
  class CopiesController {
    @Post('csv')
    @Idempotent()
    @Does('pets:write', { gives: { types: ['text/csv'] } })
    async copyCsv(): Promise<string> {
      return '';
    }

    @Sse('heard')
    @Idempotent()
    @Does('pets:read')
    hearCopies(): Observable<MessageEvent> {
      return from([]);
    }
  }

  const Ghost = Operation({ id: 'getGhost', summary: 'It', errors: { ghost_not_found: 404 } as object });

  @PublicTried('ghosts')
  class GhostsController {
    @Get() @Ghost get(): void {}
  }

  @PublicTried('bookings')
  class OtherBookingsController {
    @Get('export') export(): void {}
  }

  @PublicTried('bookings')
  class RenamingController {
    @Get(':name') get(): void {}
  }

  const Told = Operation({ id: 'getTwice', summary: 'It' });

  @PublicTried('twice')
  class TwiceController {
    @Get('a') @Told a(): void {}
    @Get('b') @Told b(): void {}
  }

  const moodOf = (values: Record<string, string>) => {
    class MoodDto {
      @EnumField({ description: 'How it feels.', name: 'Mood', values }) mood!: string;
    }
    return MoodDto;
  };
  const [Glad, Sad] = [moodOf({ glad: 'It laughs.' }), moodOf({ sad: 'It cries.' })];

  @PublicTried('moods')
  class MoodsController {
    @Get('a') @Does(undefined, { returns: Glad }) getGlad(): void {}
    @Get('b') @Does(undefined, { returns: [Sad] }) getSad(): void {}
  }

  const named = (field: string) => {
    class Dto {
      [name: string]: string;
    }
    TextField({ description: 'A text.', max: 9 })(Dto.prototype, field);
    ApiSchema({ name: 'Same' })(Dto);
    return Dto;
  };
  const [One, Other] = [named('one'), named('other')];

  @PublicTried('same')
  class SameController {
    @Get('a') @Does(undefined, { returns: One }) getOne(): void {}
    @Get('b') @Does(undefined, { returns: Other }) getOther(): void {}
  }

  class Level {
    @EnumField({ description: 'How bad it is.', name: 'Error', values: { low: 'Low.', high: 'High.' } })
    level!: string;
  }

  class ErrorCode {
    @IsNotEmpty() name!: string;
  }

  @PublicTried('own')
  class OwnNamesController {
    @Get('a') @Does(undefined, { returns: Level }) getOwn(): void {}
    @Post('b') @Does(undefined) addOwn(@Body() _body: ErrorCode): void {}
  }

  class Report {
    @ApiProperty({ type: () => [ErrorCode] })
    @IsNotEmpty()
    codes!: ErrorCode[];
  }

  @Public()
  @ApiTags('tried')
  @Controller('inside')
  class OwnNameInsideController {
    @Post() @Operation({ id: 'addInside', summary: 'It' }) add(@Body() _body: Report): void {}
  }

  class MixedDto {
    @Transform(({ value }) => value as unknown)
    @TextField({ description: 'A text.', max: 9 })
    name!: string;
  }

  class RuledDto {
    @IsNotEmpty()
    @TextField({ description: 'A text.', max: 9 })
    name!: string;
  }

  @PublicTried('mixed')
  class MixedController {
    @Post('a') @Does(undefined) postMixed(@Body() _body: MixedDto): void {}
    @Post('b') @Does(undefined) postRuled(@Body() _body: RuledDto): void {}
  }

  /** Registers as Nest documents it. */
  @Injectable()
  abstract class Subscriber {
    constructor(readonly database: DataSource) {
      database.subscribers.push(this as EntitySubscriberInterface);
    }
  }

  @Injectable()
  class PaperSubscriber extends Subscriber {
    listenTo = () => Paper;
    beforeInsert(): void {}
  }

  @Injectable()
  class EverySubscriber extends Subscriber {
    afterLoad(): void {}
  }

  @Injectable()
  class CommitSubscriber extends Subscriber {
    static commits = 0;

    afterTransactionCommit(): void {
      CommitSubscriber.commits++;
    }
  }

  @Entity('child_papers')
  class ChildPaper extends Paper {
    @AfterInsert()
    added(): void {}
  }

  test('at the start: not an entity whose child has a listener, nor a subscriber of transactions alone', async () => {
    const added = [DataModule.forFeature([Paper, ChildPaper]), PapersController, CommitSubscriber];
    const started = await startExtended({}, ...added);
    await query(started.databaseUrl, CREATE_PAPERS);
    const bearer = await createKey(started);
    const body = { text: 'of a parent' };
    const headers = { 'Idempotency-Key': 'parent' };
    const before = CommitSubscriber.commits;
    const answer = await call(started, 'POST', '/v1/papers/acting', { key: bearer, body, headers });
    expect([answer.status, CommitSubscriber.commits]).toEqual([201, before + 1]);
    await started.stop();
  });
  @Tried('closed')
  class ClosedController {
    @Get('a') a(): void {}
    @Get('b') @Does(undefined) getClosed(): void {}
    @Get('c') @Does([] as unknown as 'pets:read') getNamingNone(): void {}
    @Post('d') @Does(needsBy(ToldDto, 'told', {})) addNamingNone(@Body() _body: ToldDto): void {}
  }

  @PublicTried('opened')
  class OpenedController {
    @Get('a') @Does('pets:read') getOpened(): void {}
  }

  @Tried('needing')
  class NeedingController {
    @Get('a') @Does('ghosts:read' as 'pets:read') getNeeding(): void {}
  }

  const byStage = needsBy(FieldsDto, 'stage', { trial: 'pets:write', final: 'orders:manage' });
  class Trimming implements PipeTransform {
    transform(value: unknown): unknown {
      return value;
    }
  }

  @Tried('unseen')
  class UnseenController {
    @Post('a') @Does(byStage) addOther(@Body() _body: RuledDto): void {}
    @Post('b') @Does(byStage) addPart(@Body('stage') _stage: FieldsDto): void {}
    @Post('c') @Does(byStage) addPiped(@Body(Trimming) _body: FieldsDto): void {}
    @Post('d') @UsePipes(Trimming) @Does(byStage) addTrimmed(@Body() _body: FieldsDto): void {}
    @Post('e') @Does(byStage) addUnseen(): void {}
  }

  @Public()
  @Controller('untagged')
  class UntaggedController {
    @Get('a') a(): void {}
    @Get('b') @ApiTags('nobodys') b(): void {}
    @Get('c') @ApiExcludeEndpoint() c(): void {}
  }

  @PublicTried('several')
  class SeveralController {
    @Get('a') @Version(['1', '2']) a(): void {}
    @Get(['b', 'c']) b(): void {}
    @All('d') @Does(undefined) allSeveral(): void {}
    @Get('e') @Version(['1', VERSION_NEUTRAL]) e(): void {}
  }

  @Public()
  @ApiTags('tried')
  @Controller({ path: 'neutral', version: VERSION_NEUTRAL })
  class NeutralController {
    @Get('a') a(): void {}
    @Get('b') @ApiExcludeEndpoint() b(): void {}
  }

  @Injectable()
  class Nightly {
    @Scheduled('nightly-report', '3 o clock') async report(): Promise<void> {}
  }

  const { BookingsController } = notes;
  test.each(
    Object.entries<Parameters<typeof startExtended>[1][]>({
      'Paper cannot have a FastRepository: PaperSubscriber subscribes to it.': [
        PAPERS,
        PapersController,
        PaperSubscriber,
      ],
      'cannot have a FastRepository: EverySubscriber subscribes to it.': [EverySubscriber],
      'Only answers in JSON can be repeated for an Idempotency-Key: answer with JSON, or remove @Idempotent() from copyCsv (text/csv), hearCopies (text/event-stream).':
        [CopiesController],
      'No feature declares errors of getGhost (ghost_not_found): ': [GhostsController],
      "No permission is named for ClosedController_a, getClosed, getNamingNone, addNamingNone: add needs: 'pets:write' to @Operation, or needs: 'nothing' if any key will do, or @Public().":
        [ClosedController],
      'API keys do not open getOpened, so needs has no effect there: remove needs, or @Public() from the method or its controller.':
        [OpenedController],
      'No feature declares permissions of getNeeding (ghosts:read): name them in a @Feature that is in the list of features.':
        [NeedingController],
      'With needsBy(), the method must take the whole body, by @Body() of the class that needsBy() names, without pipes of its own: addOther, addPart, addPiped, addTrimmed, addUnseen.':
        [UnseenController],
      'No tag is named for UntaggedController_a: write @ApiTags() at the controller, or leave it out of the document by @ApiExcludeController().':
        [UntaggedController],
      "No feature describes tags of UntaggedController_b (nobodys): write tags: { pets: 'The animals.' } in its @Feature.":
        [UntaggedController],
      'The document needs one operation for each path, version and HTTP method: write a method for each address of SeveralController_a, SeveralController_b, allSeveral.':
        [SeveralController],
      'The document cannot show an operation whose only version is VERSION_NEUTRAL: add a version, or @ApiExcludeEndpoint(), to NeutralController_a.':
        [NeutralController],
      'Two operations have the id getTwice': [TwiceController],
      'Two different schemas have the name Mood': [MoodsController],
      'Two different schemas have the name Same': [SameController],
      'schemas have the name ErrorCode.': [OwnNamesController],
      'different schemas have the name ErrorCode.': [OwnNameInsideController],
      'Two different schemas have the name Error.': [OwnNamesController],
      'A DTO has either fields or decorators of class-validator and class-transformer, not both: MixedDto, RuledDto.':
        [MixedController],
      'The cron expression of the schedule nightly-report is invalid (3 o clock): ': [Nightly],
      'GET /v1/bookings/:name is never called: GET /v1/bookings/:bookingId takes its requests first.': [
        BookingsController,
        RenamingController,
      ],
      'Duplicate route: GET /v1/bookings/export is registered by both BookingsController#export and OtherBookingsController#export':
        [BookingsController, OtherBookingsController],
    }),
  )('at the start: %s', async (message, classes) => {
    await expect(startExtended(extended.databaseUrl, ...classes)).rejects.toThrow(message);
  });

  // Last, as what is declared stays so.
  test('at the start: a violation of a constraint that no table has', async () => {
    violation(Pet, 'pets_nam_key', 'pet_not_found');
    await expect(startExtended(extended.databaseUrl)).rejects.toThrow(
      "violation(Pet, 'pets_nam_key', 'pet_not_found'): no table has a constraint or a unique index of that name.",
    );
  });
});
