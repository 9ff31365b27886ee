import 'reflect-metadata';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import openapiTS, { astToString } from 'openapi-typescript';
import '../../src/features.js';
import { referencePage } from '../../src/platform/docs/site/reference.js';
import { type Content, Operation, type Success } from '../../src/platform/api/index.js';
import { holdAgainstDocument, operations } from '../../src/testing/document.js';
import { type Service, startService } from '../../src/testing/service.js';
import { AnswersController, FILE } from '../support/answers.controller.js';
import { type Extended, startExtended } from '../support/extended.js';
import { hasRequests, LANGUAGES } from '../support/languages.js';
import { newFolder, removeFolders, ROOT } from '../support/npm.js';
import { PIXEL } from '../support/uploads.controller.js';

const run = promisify(execFile);

let service: Service;
let extended: Extended;
// oxlint-disable-next-line typescript/no-explicit-any -- a test reads what it expects, and fails where that is not there
let document: any;

beforeAll(async () => {
  service = await startService();
  extended = await startExtended(service.databaseUrl, AnswersController);
  document = await (await fetch(`${extended.url}/openapi.json`)).json();
}, 60_000);
afterAll(async () => {
  await extended.stop();
  await service.stop();
  await removeFolders();
});

const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${extended.url}/v1/answers/${path}`, { method, headers });
const operationAt = (path: string) => document.paths[`/answers/${path}`].get;

const CSV = 'id,name\n1,Luna\n2,Zoë\n';

describe('An answer', () => {
  test.each(['text', 'file', 'generated'])('is of the type that its operation gives: a %s', async (way) => {
    const response = await ask(`csv?way=${way}`);
    expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
      200,
      'text/csv; charset=utf-8',
      CSV,
    ]);
  });

  test('of an operation that gives other types fails as JSON', async () => {
    const response = await ask('csv?way=none');
    expect([response.status, response.headers.get('content-type')]).toEqual([
      400,
      'application/json; charset=utf-8',
    ]);
    expect(await response.json()).toMatchObject({ code: 'validation_failed' });
  });

  test.each([
    ['application/json', '{"id":"1","name":"Luna"}'],
    ['text/csv', 'id,name\n1,Luna\n'],
  ])('is of the type that a client asks for: %s', async (Accept, text) => {
    const response = await ask('rows', { Accept });
    expect(response.headers.get('content-type')).toBe(`${Accept}; charset=utf-8`);
    expect(await response.text()).toBe(text);
  });

  test('has the status and the type that the method chooses', async () => {
    const answers = await Promise.all(['report', 'report?later=true'].map((path) => ask(path)));
    expect(answers.map(({ status, headers }) => [status, headers.get('content-type')])).toEqual([
      [200, 'text/csv; charset=utf-8'],
      [202, 'application/json; charset=utf-8'],
    ]);
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
      expect([again.status, again.headers.get('etag'), (await again.text()) === '']).toEqual([
        status,
        tag,
        status === 304,
      ]);
    }
  });
});

describe.each([
  ['in memory', 'picture', PIXEL, 'image/png'],
  ['on disk', 'file', readFileSync(FILE), 'text/plain; charset=utf-8'],
])('A file %s', (_where, path, bytes, type) => {
  const part = async (Range: string, more = {}) => {
    const response = await ask(path, { Range, ...more });
    return { status: response.status, headers: response.headers, bytes: await response.bytes() };
  };

  test('is sent as a whole, and not again to a client that has it', async () => {
    const first = await ask(path);
    const tag = first.headers.get('etag')!;
    expect([first.status, first.headers.get('content-type')]).toEqual([200, type]);
    expect(bytes.equals(await first.bytes())).toBe(true);
    // `fetch` would ask for all of it, as Express understands that.
    const again = await ask(path, { 'If-None-Match': tag, 'Cache-Control': 'max-age=0' });
    expect([again.status, again.headers.get('etag'), again.headers.get('content-type')]).toEqual([
      304,
      tag,
      null,
    ]);
    expect((await again.bytes()).length).toBe(0);
    const head = await ask(path, {}, 'HEAD');
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(bytes.length)]);
  });

  test.each([
    ['bytes=0-9', 0, 10],
    ['bytes=60-', 60, undefined],
    ['bytes=-5', -5, undefined],
    ['bytes=10-99999999', 10, undefined],
  ])('is sent in the part that is asked for: %s', async (range, from, to) => {
    const { status, headers, bytes: sent } = await part(range);
    const expected = bytes.subarray(from, to);
    expect([status, headers.get('content-length')]).toEqual([206, String(expected.length)]);
    const start = from < 0 ? bytes.length + from : from;
    expect(headers.get('content-range')).toBe(
      `bytes ${start}-${start + expected.length - 1}/${bytes.length}`,
    );
    expect(Buffer.from(sent)).toEqual(expected);
  });

  test.each(['bytes=x', 'lines=0-1', 'bytes=0-1,5-6'])(
    'is sent as a whole for what is no range, or several: %s',
    async (range) => {
      expect(await part(range)).toMatchObject({ status: 200, bytes: Uint8Array.from(bytes) });
    },
  );

  test('is sent as a whole to a client that has a part of another one', async () => {
    expect((await part('bytes=0-9', { 'If-Range': '"another"' })).status).toBe(200);
  });

  test('has nothing behind its end: 416, with how long it is', async () => {
    const response = await ask(path, { Range: 'bytes=99999999-' });
    expect([response.status, response.headers.get('content-range'), await response.json()]).toEqual([
      416,
      `bytes */${bytes.length}`,
      { code: 'range_not_satisfiable', status: 416, message: expect.any(String) },
    ]);
  });
});

describe('The document', () => {
  test('has each success with its types, headers and an example', () => {
    const { responses } = operationAt('picture');
    const picture = {
      'image/png': {
        schema: { type: 'string', format: 'binary' },
        example: `data:image/png;base64,${PIXEL.toString('base64')}`,
      },
    };
    expect(responses[200].content).toEqual(picture);
    expect(responses[206].content).toEqual(picture);
    expect(responses[304]).not.toHaveProperty('content');
    expect([200, 206, 304].map((status) => Object.keys(responses[status].headers))).toEqual([
      ['X-Request-Id', 'ETag', 'Accept-Ranges'],
      ['X-Request-Id', 'ETag', 'Accept-Ranges', 'Content-Range'],
      ['X-Request-Id', 'ETag'],
    ]);
    expect(document.components.headers).toHaveProperty('Content-Range');
    expect(Object.keys(responses[416].content['application/json'].examples)).toEqual([
      'range_not_satisfiable',
    ]);
    expect(operationAt('picture').parameters.map(({ name }: { name: string }) => name)).toEqual([
      'If-None-Match',
      'Range',
    ]);
    const csv = { 'text/csv': { schema: { type: 'string' }, example: 'id,name\n1,Luna\n' } };
    const row = {
      'application/json': {
        schema: { $ref: '#/components/schemas/Row' },
        example: { id: '1', name: 'Luna' },
      },
    };
    expect(operationAt('rows').responses[200].content).toEqual({ ...row, ...csv });
    const report = operationAt('report').responses;
    expect([report[200].content, report[202].content]).toEqual([csv, row]);
  });

  test('has the types in the reference too', () => {
    const { content } = referencePage(document, { start: '', guides: new Set() });
    expect(content).toContain('<p class="limits">image/png</p>');
    expect(content).toContain('id,name\n1,Luna');
  });

  test.each(Object.keys(LANGUAGES).filter((label) => label !== 'Python' || hasRequests))(
    'has samples in %s that show what comes',
    async (label) => {
      const cwd = newFolder();
      const shown: Record<string, RegExp> = {
        csv: /1,Luna/,
        picture: label === 'curl' ? /^$/ : /^200 70\s*$/,
        events: /data: .*Luna/,
      };
      for (const [path, expected] of Object.entries(shown)) {
        const samples = operationAt(path)['x-codeSamples'] as { label: string; source: string }[];
        const { source } = samples.find((one) => one.label === label)!;
        const here = source.replaceAll('http://localhost:3000', extended.url);
        const { stdout } = await run(...LANGUAGES[label]!(here), { cwd });
        expect(stdout).toMatch(expected);
      }
      if (label === 'curl') expect(readFileSync(join(cwd, 'answer'))).toEqual(PIXEL);
    },
  );

  test('makes clients whose types have them', async () => {
    const folder = newFolder();
    const types = astToString(await openapiTS(JSON.stringify(document), { silent: true }));
    writeFileSync(join(folder, 'schema.d.ts'), types);
    writeFileSync(
      join(folder, 'use.ts'),
      `import type { paths } from './schema.d.ts';
      type Answers<P extends keyof paths> = paths[P] extends { get: { responses: infer R } } ? R : never;
      export const csv: Answers<'/answers/csv'>[200]['content']['text/csv'] = 'id';
      export const row: Answers<'/answers/rows'>[200]['content']['application/json'] = { id: '1', name: 'Luna' };
      export const part: Answers<'/answers/picture'>[206]['content'] = { 'image/png': '' };
      export const none: Answers<'/answers/picture'>[304]['content'] = undefined;
      // @ts-expect-error
      export const other: Answers<'/answers/csv'>[200]['content']['application/json'] = '';`,
    );
    const tsc = [join(ROOT, 'node_modules/typescript-7/bin/tsc'), '--noEmit', '--strict', '--skipLibCheck'];
    const options = ['--allowImportingTsExtensions', '--module', 'nodenext', '--target', 'esnext'];
    await run(process.execPath, [...tsc, ...options, join(folder, 'use.ts')], { cwd: folder });
  });
});

describe('An answer that its operation does not document', () => {
  const csv = { content: { 'text/csv': { schema: { type: 'string' } } } };
  const image = { content: { 'image/*': { schema: { type: 'string' } } } };
  const placed = {
    method: 'GET',
    path: '/answers/checked',
    operation: { operationId: 'getChecked', security: [], responses: { 200: csv, 206: image } } as never,
  };
  beforeAll(() => operations.push(placed));
  afterAll(() => operations.pop());
  const hold = (status: number, type: string, text = 'x') =>
    holdAgainstDocument({
      method: 'GET',
      path: '/v1/answers/checked',
      status,
      headers: new Headers({ 'Content-Type': type }),
      text,
    });

  test('fails the test that has asked for it, by its status or its type', () => {
    hold(200, 'text/csv; charset=utf-8');
    hold(206, 'image/png');
    expect(() => hold(200, 'application/json', '{}')).toThrow('application/json is not text/csv');
    expect(() => hold(206, 'text/csv')).toThrow('text/csv is not image/*');
    expect(() => hold(201, 'text/csv')).toThrow('does not document');
  });
});

describe('An operation ends the start', () => {
  const gives = (types: string[], example?: Content) => ({ types, example });
  test.each<[string, Partial<Parameters<typeof Operation>[0]>]>([
    ['gives no media type: csv', { gives: gives(['csv'], 'a') }],
    ['has no example of what it gives', { gives: gives(['text/csv']) }],
    ['returns no class to give as JSON', { gives: gives(['application/json', 'text/csv'], 'a') }],
    ['has two successes with one status: 200, 200', { successes: [{ status: 200 }, { status: 200 }] }],
    [
      'gives a body with 304, which has none',
      { successes: [{ status: 200 }, { status: 304, gives: gives(['text/csv'], 'a') }] },
    ],
    [
      'gives parts (206), and has to tell by 304 who has them',
      { successes: [{ status: 200 }, { status: 206 }] as [Success, ...Success[]] },
    ],
  ])('that %s', (message, options) => {
    expect(() => Operation({ id: 'getIt', summary: 'It', ...options })).toThrow(`getIt ${message}`);
  });
});
