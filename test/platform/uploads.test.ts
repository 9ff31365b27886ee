import 'reflect-metadata';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import '../../src/features.js';
import { createKey } from '../../src/testing/client.js';
import { type Service, startService } from '../../src/testing/service.js';
import { type Extended, startExtended } from '../support/extended.js';
import { setAhead } from '../support/passing-time.js';
import { eventually } from '../support/npm.js';
import { hasRequests, LANGUAGES } from '../support/languages.js';
import { PIXEL, UploadsController } from '../support/uploads.controller.js';

const run = promisify(execFile);

let service: Service;
let key: string;
let extended: Extended;
// oxlint-disable-next-line typescript/no-explicit-any -- a test reads what it expects, and fails where that is not there
let document: any;

beforeAll(async () => {
  service = await startService();
  key = await createKey(service);
  extended = await startExtended(service.databaseUrl, UploadsController);
  document = await (await fetch(`${extended.url}/openapi.json`)).json();
}, 60_000);
afterAll(async () => {
  await extended.stop();
  await service.stop();
});

type Sent = Partial<Record<'type' | 'encoding' | 'idempotency', string>>;

/** Sends a body to an operation, and gives the status and the JSON of its answer. */
async function upload(
  method: string,
  path: string,
  body: string | Buffer | FormData,
  { type, encoding, idempotency }: Sent = {},
): Promise<[status: number, body: Record<string, unknown>]> {
  const headers = {
    Authorization: `Bearer ${key}`,
    ...(type && { 'Content-Type': type }),
    ...(encoding && { 'Content-Encoding': encoding }),
    ...(idempotency && { 'Idempotency-Key': idempotency }),
  };
  const response = await fetch(`${extended.url}/v1/uploads/${path}`, { method, headers, body });
  return [response.status, (await response.json()) as Record<string, unknown>];
}

const bytes = (size: number) => Buffer.alloc(size, 'x');
const error = (status: number, code: string, message: unknown = expect.any(String)) => [
  status,
  { code, message, status },
];

const FORM = 'multipart/form-data; boundary=between';

/** A form as it is sent, with one photo. */
function formOf(photo: Buffer): Buffer {
  const field = (name: string) => `--between\r\nContent-Disposition: form-data; name="${name}"`;
  const head = `${field('caption')}\r\n\r\nLuna\r\n${field('photo')}; filename="luna.png"\r\nContent-Type: image/png\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), photo, Buffer.from('\r\n--between--\r\n')]);
}

type Begun = Partial<Record<'credentials' | 'from' | 'operation' | 'type', string>>;

/** Begins to send a body, a picture unless otherwise said, from an address of this machine, and says how long it is. */
function beginPicture(length: number | 'chunked', options: Begun = {}): Socket {
  const { credentials = `Authorization: Bearer ${key}`, from, type = 'image/png' } = options;
  const { operation = 'PUT /v1/uploads/picture' } = options;
  const { port } = new URL(extended.url);
  const socket = connect({ port: Number(port), host: '127.0.0.1', localAddress: from });
  const size = length === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`;
  const lines = [`${operation} HTTP/1.1`, 'Host: x', credentials, `Content-Type: ${type}`, size];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  return socket.on('error', () => {});
}

/** The status of what has come over a socket first. */
async function statusOn(socket: Socket): Promise<string> {
  const [first] = (await once(socket, 'data')) as [Buffer];
  return first.toString('latin1', 9, 12);
}

describe('A raw body', () => {
  test.each(['image/png', 'IMAGE/JPEG', 'image/png; charset=binary'])('comes as bytes: %s', async (type) => {
    expect(await upload('PUT', 'picture', PIXEL, { type })).toEqual([
      200,
      { kind: 'Buffer', size: String(PIXEL.length) },
    ]);
  });

  test('may have as many bytes as its operation says, also compressed, and not one more', async () => {
    const type = 'image/png';
    expect(await upload('PUT', 'picture', bytes(5_000_000), { type })).toMatchObject([
      200,
      { size: '5000000' },
    ]);
    const encoding = 'gzip';
    expect(await upload('PUT', 'picture', gzipSync(bytes(5_000_000)), { type, encoding })).toMatchObject([
      200,
      { size: '5000000' },
    ]);
    const tooLarge = error(413, 'payload_too_large', 'The request body is larger than 5 MB.');
    expect(await upload('PUT', 'picture', bytes(5_000_001), { type })).toEqual(tooLarge);
    expect(await upload('PUT', 'picture', gzipSync(bytes(5_000_001)), { type, encoding })).toEqual(tooLarge);
    expect(await upload('PUT', 'picture', gzipSync(bytes(500_000_000)), { type, encoding })).toEqual(
      tooLarge,
    );
    expect(await upload('PUT', 'picture', PIXEL, { type, encoding: 'rot13' })).toEqual(
      error(415, 'unsupported_encoding'),
    );
  });

  test('of an unknown length is answered when it is too large, and not when it ends', async () => {
    const socket = beginPicture('chunked');
    const answer = statusOn(socket);
    socket.write(`${(5_000_001).toString(16)}\r\n`);
    socket.write(bytes(5_000_001));
    expect(await answer).toBe('413');
    socket.destroy();
  });

  test('of another type is refused by the names of those that are taken', async () => {
    const refused = error(
      400,
      'invalid_content_type',
      'The request needs the header Content-Type: image/png or image/jpeg.',
    );
    for (const type of ['image/gif', 'application/json', 'image', 'image/pngs', 'application/octet-stream'])
      expect(await upload('PUT', 'picture', PIXEL, { type })).toEqual(refused);
  });

  test('is asked for only when the key is valid', async () => {
    const { calls } = UploadsController;
    for (const [credentials, status] of [
      ['Authorization: Bearer x\r\nExpect: 100-continue', '401'],
      [`Authorization: Bearer ${key}\r\nExpect: 100-continue`, '100'],
    ] as const) {
      const socket = beginPicture(1_000_000, { credentials });
      expect(await statusOn(socket)).toBe(status);
      socket.destroy();
    }
    expect(UploadsController.calls).toBe(calls);
  });

  test('stands beside others in one operation', async () => {
    expect(await upload('POST', 'lines', 'a,b', { type: 'text/csv; charset=utf-8' })).toEqual([
      200,
      { kind: 'text', size: 'a,b' },
    ]);
    const json = { type: 'application/json' };
    expect(await upload('POST', 'lines', '{"a": 1}', json)).toEqual([200, { kind: 'json', size: '{"a":1}' }]);
    expect(await upload('POST', 'lines', '{', json)).toEqual(error(400, 'invalid_json'));
    expect(await upload('POST', 'lines', '{}', { type: 'application/json; charset=latin1' })).toEqual(
      error(
        400,
        'invalid_content_type',
        'The request needs the header Content-Type: text/* or application/json.',
      ),
    );
  });

  test('counts for its Idempotency-Key, byte by byte', async () => {
    const type = 'image/png';
    const idempotency = 'a-picture';
    const { calls } = UploadsController;
    const first = await upload('PUT', 'picture', PIXEL, { type, idempotency });
    expect(await upload('PUT', 'picture', PIXEL, { type, idempotency })).toEqual(first);
    expect(UploadsController.calls).toBe(calls + 1);
    const other = Buffer.from(PIXEL).fill(0, PIXEL.length - 1);
    expect(await upload('PUT', 'picture', other, { type, idempotency })).toEqual(
      error(422, 'idempotency_key_reused'),
    );
  });
});

describe('JSON', () => {
  const names = (count: number, length: number) =>
    JSON.stringify({ names: Array.from({ length: count }, () => 'x'.repeat(length)) });

  test('may be as large as its operation says, and is checked as any other', async () => {
    const type = 'application/json';
    expect(await upload('POST', 'names', names(100, 10_000), { type })).toEqual([
      200,
      { kind: 'names', size: '100' },
    ]);
    expect(await upload('POST', 'names', names(1, 10_001), { type })).toEqual(
      error(400, 'validation_failed'),
    );
    expect(await upload('POST', 'names', names(110, 10_000), { type })).toEqual(
      error(413, 'payload_too_large', 'The request body is larger than 1 MB.'),
    );
  });

  test('of the largest size has room, also compressed: for one at a time, and others wait for their turn', async () => {
    const sent = gzipSync(names(1_000, 10_000));
    const options = { type: 'application/json', encoding: 'gzip' };
    const all = await Promise.all([1, 2, 3].map(() => upload('POST', 'all-names', sent, options)));
    expect(all).toEqual(Array.from({ length: 3 }, () => [200, { kind: 'names', size: '1000' }]));
  });
});

/** A form with texts, and with files by their names. */
function form(fields: Record<string, string | Buffer | Buffer[]>): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields))
    for (const one of [value].flat())
      if (typeof one === 'string') data.append(name, one);
      else data.append(name, new Blob([Uint8Array.from(one)], { type: 'image/png' }), 'a.png');
  return data;
}

describe('A form', () => {
  test('comes by the interceptors of Nest, its fields by their class', async () => {
    expect(
      await upload('POST', 'photos', form({ caption: 'Luna', age: '7', photo: bytes(3_000_000) })),
    ).toEqual([200, { kind: 'Luna 7', size: 'a.png image/png 3000000' }]);
    expect(await upload('POST', 'albums', form({ photos: [PIXEL, bytes(5), PIXEL] }))).toEqual([
      200,
      { kind: 'album', size: '70 5 70' },
    ]);
  });

  test('that is wrong is answered as what is wrong with it', async () => {
    expect(await upload('POST', 'photos', form({ age: '7', photo: PIXEL }))).toEqual(
      error(400, 'validation_failed', expect.stringMatching(/^caption/)),
    );
    const send = (fields: Parameters<typeof form>[0]) => upload('POST', 'albums', form(fields));
    expect(await send({ other: PIXEL })).toEqual(
      error(400, 'bad_request', expect.stringMatching(/Unexpected/)),
    );
    expect(await send({ photos: [PIXEL, PIXEL, PIXEL, PIXEL] })).toEqual(error(400, 'bad_request'));
    expect(await send({ a: '1', b: '2', c: '3', d: '4', e: '5', f: '6' })).toEqual(error(400, 'bad_request'));
    expect(await send({ photos: bytes(100_001) })).toEqual(error(413, 'payload_too_large'));
    expect(await send({ photos: bytes(1_000_001) })).toEqual(
      error(413, 'payload_too_large', 'The request body is larger than 1 MB.'),
    );
    const type = 'multipart/form-data; boundary=x';
    for (const [body, of = type] of [
      ['--x\r\nContent-Disposition: form-data; name="photos"; filename="a.png"\r\n\r\nhalf a file'],
      ['nothing of a form'],
      [''],
      ['--x--', 'multipart/form-data'],
    ])
      expect(await upload('POST', 'albums', body!, { type: of })).toEqual(error(400, 'bad_request'));
    expect(await upload('POST', 'albums', '--x--', { type: 'multipart/mixed; boundary=x' })).toEqual(
      error(400, 'invalid_content_type', expect.stringMatching(/multipart\/form-data/)),
    );
    expect(await send({ photos: PIXEL })).toMatchObject([200, { size: '70' }]);
  });

  test('is the same for its Idempotency-Key with another boundary, and not with another part', async () => {
    const idempotency = 'a-form';
    const { calls } = UploadsController;
    const send = (caption: string) =>
      upload('POST', 'photos', form({ caption, photo: PIXEL }), { idempotency });
    const first = await send('Luna');
    expect(first[0]).toBe(200);
    expect(await send('Luna')).toEqual(first);
    expect(UploadsController.calls).toBe(calls + 1);
    expect(await send('Lun')).toEqual(error(422, 'idempotency_key_reused'));
  });

  test('is described with its files and its fields', () => {
    const { content } = document.paths['/uploads/photos'].post.requestBody;
    const { schema, encoding, example } = content['multipart/form-data'];
    expect(schema).toMatchObject({
      type: 'object',
      required: ['caption', 'photo'],
      properties: { caption: { maxLength: 100 }, photo: { type: 'string', format: 'binary' } },
    });
    expect(encoding).toEqual({ photo: { contentType: 'image/png' } });
    expect(example).toMatchObject({ caption: 'Luna', photo: expect.stringMatching(/^data:image\/png/) });
  });
});

describe('The code samples', () => {
  const LABELS = Object.keys(LANGUAGES).filter((label) => label !== 'Python' || hasRequests);
  const OPERATIONS = [
    '/uploads/picture put',
    '/uploads/lines post',
    '/uploads/photos post',
    '/uploads/albums post',
  ];
  const cases = LABELS.flatMap((label) => OPERATIONS.map((operation) => [label, operation] as const));

  test.each(cases)('in %s send bytes, texts and files as they stand: %s', async (label, operation) => {
    const [path, method] = operation.split(' ') as [string, string];
    const samples = document.paths[path][method]['x-codeSamples'] as { label: string; source: string }[];
    const { source } = samples.find((one) => one.label === label)!;
    const here = source.replaceAll('http://localhost:3000', () => extended.url);
    const [command, args] = LANGUAGES[label]!(here);
    const { stdout } = await run(command, args, { env: { PATH: process.env.PATH, API_KEY: key } });
    expect(stdout).toMatch(
      { picture: /Buffer.*70/s, lines: /text.*1,Luna/s, photos: /Luna 3.*photo\.png image\/png 70/s }[
        path.split('/')[2]!
      ] ?? /album.*70/s,
    );
  });
});

describe('Bodies that come slowly', () => {
  test('may take longer than 15 seconds where they go on, and are answered 408 where they do not', async () => {
    const length = 300_000;
    const steady = beginPicture(length);
    const stuck = beginPicture(length);
    const begun = performance.now();
    const answers = Promise.all([statusOn(steady), statusOn(stuck)]);
    stuck.write(bytes(1_000));
    for (let i = 0; i < 20; i++) {
      steady.write(bytes(length / 20));
      await sleep(900);
    }
    expect(await answers).toEqual(['200', '408']);
    expect(performance.now() - begun).toBeGreaterThan(17_000);
    stuck.destroy();
    // The connection goes on.
    const next = statusOn(steady);
    steady.write(
      `PUT /v1/uploads/picture HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: image/png\r\nContent-Length: 5\r\n\r\nhello`,
    );
    expect(await next).toBe('200');
    steady.destroy();
  }, 60_000);

  test('of one client, however many, leave another its room, and lose none to it', async () => {
    const before = extended.lines.length;
    const slow = Array.from({ length: 300 }, () => beginPicture(5_000_000));
    for (const socket of slow) socket.write(bytes(100));
    await arrive();
    // The oldest of them are slow by now.
    setAhead(1_500);
    for (let i = 0; i < 40; i++) {
      const socket = beginPicture(1_000_000, { from: '127.0.0.2' });
      socket.write(bytes(1_000_000));
      expect(await statusOn(socket)).toBe('200');
      socket.destroy();
    }
    expect(extended.lines.slice(before).filter(({ status }) => status === 503)).toEqual([]);
    for (const socket of slow) socket.destroy();
    expect(await upload('PUT', 'picture', PIXEL, { type: 'image/png' })).toMatchObject([200, {}]);
  }, 30_000);

  test('of many clients, who have all of the room, lose it to another that has none', async () => {
    const addresses = Array.from({ length: 9 }, (_, i) => `127.0.0.${i + 10}`);
    const slow = addresses.flatMap((from) =>
      Array.from({ length: 3 }, () => beginPicture(5_000_000, { from })),
    );
    for (const socket of slow) socket.write(bytes(100));
    await arrive();
    const socket = beginPicture(5_000_000, { from: '127.0.0.2' });
    socket.write(bytes(5_000_000));
    const answer = statusOn(socket);
    await arrive();
    setAhead(1_500);
    expect(await answer).toBe('200');
    for (const one of [...slow, socket]) one.destroy();
  });

  test('wait unread for room, and all are answered', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => upload('PUT', 'picture', bytes(5_000_000), { type: 'image/png' })),
    );
    expect(new Set(answers.map(([status]) => status))).toEqual(new Set([200]));
  }, 30_000);
});

afterEach(() => setAhead(0));

/** What was sent before has come: another request has, and its answer. */
async function arrive(): Promise<void> {
  const headers = { Authorization: `Bearer ${key}` };
  for (let i = 0; i < 3; i++) expect((await fetch(`${extended.url}/v1/pets`, { headers })).status).toBe(200);
}

describe('The memory of bodies', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  /** Bytes that something still refers to. What one collection has found, V8 gives back meanwhile; the next one waits for that. */
  const held = () => {
    collect();
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const holdsLessThan = (size: number, before: number) => eventually(() => held() - before < size, 15_000);
  /** All come to their method, as many as there is room for, and are held there until they are let go. */
  const comeTo = async (sockets: Socket[], send: (socket: Socket) => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    UploadsController.gate = promise;
    const { calls } = UploadsController;
    for (const socket of sockets) send(socket);
    // Twenty of them are three quarters of the room.
    await eventually(() => UploadsController.calls === calls + 20, 15_000);
    await arrive();
    expect(UploadsController.calls).toBe(calls + 20);
    return resolve;
  };

  const picture = bytes(5_000_000);
  const parts: Record<string, (socket: Socket) => void> = {
    'of a known length': (socket) => socket.write(picture),
    chunked: (socket) => {
      socket.write(`${picture.length.toString(16)}\r\n`);
      socket.write(picture);
      socket.write('\r\n0\r\n\r\n');
    },
  };
  test.each(Object.entries(parts))(
    'is theirs once until they are answered, and none for those that wait: %s',
    async (kind, send) => {
      const length = kind === 'chunked' ? kind : picture.length;
      const operation = 'PUT /v1/uploads/looked-at';
      const before = held();
      const sockets = Array.from({ length: 60 }, () => beginPicture(length, { operation }));
      const answers = Promise.all(sockets.map(statusOn));
      const letGo = await comeTo(sockets, send);
      // Of those that wait, Node has read what its buffers take.
      await holdsLessThan(20 * picture.length + 60 * 300_000, before);
      letGo();
      expect(new Set(await answers)).toEqual(new Set(['200']));
      for (const socket of sockets) socket.destroy();
    },
    60_000,
  );

  const json = Buffer.from(JSON.stringify({ message: 'x'.repeat(60_000) }));
  const form = formOf(bytes(1_000_000));
  test.each([
    ['pictures', 'PUT /v1/uploads/picture', 'image/png', bytes(1_000_000), '200', 20],
    ['small JSON', 'POST /v1/messages', 'application/json', json, '202', 300],
    ['files of forms', 'POST /v1/uploads/photos', FORM, form, '200', 20],
    [
      'forms that nobody has read',
      'POST /v1/uploads/photos',
      `${FORM}\r\nIdempotency-Key: of two`,
      form,
      '400',
      20,
    ],
  ])(
    'is given up with their answers, also where connections stay open: %s',
    async (_kind, operation, type, body, status, count) => {
      const sockets: Socket[] = [];
      const send = async () => {
        const socket = beginPicture(body.length, { operation, type });
        sockets.push(socket);
        socket.write(body);
        expect(await statusOn(socket)).toBe(status);
      };
      await send();
      const before = held();
      while (sockets.length <= count) await send();
      await holdsLessThan((count * body.length) / 2, before);
      for (const socket of sockets) socket.destroy();
    },
    30_000,
  );
});

describe('As time goes by,', () => {
  test('a body is given up that comes more slowly than 16 kB a second, and one goes on that does not', async () => {
    const slow = beginPicture(1_000_000);
    const steady = beginPicture(1_000_000);
    slow.write(bytes(16_000));
    steady.write(bytes(200_000));
    const answers = [statusOn(slow), statusOn(steady)];
    await arrive();
    setAhead(10_000);
    slow.write(bytes(100));
    steady.write(bytes(100));
    await arrive();
    // So both have sent something within the last 15 seconds.
    setAhead(20_000);
    expect(await answers[0]).toBe('408');
    steady.write(bytes(799_900));
    expect(await answers[1]).toBe('200');
    for (const socket of [slow, steady]) socket.destroy();
  });

  test('a body that finds no room for 10 seconds is answered 503', async () => {
    const room = Array.from({ length: 26 }, () => beginPicture(5_000_000));
    for (const socket of room) socket.write(bytes(100));
    await arrive();
    const waiting = beginPicture(5_000_000);
    waiting.write(bytes(5_000_000));
    const answer = statusOn(waiting);
    await arrive();
    setAhead(5_000);
    await sleep(600);
    expect(await Promise.race([answer, Promise.resolve('waits')])).toBe('waits');
    setAhead(10_000);
    expect(await answer).toBe('503');
    for (const socket of [...room, waiting]) socket.destroy();
  });
});

test('A stop with a body under way ends within the grace period, and the body is not taken', async () => {
  const main = fileURLToPath(new URL('../support/with-uploads.js', import.meta.url));
  const stopping = await startService({ DATABASE_URL: service.databaseUrl, SHUTDOWN_GRACE_MS: '1000' }, main);
  const socket = connect(Number(new URL(stopping.url).port), '127.0.0.1').on('error', () => {});
  socket.write(
    `PUT /v1/pictures HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: image/png\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n`,
  );
  expect(await statusOn(socket)).toBe('100');
  socket.write(bytes(1_000));
  const closed = once(socket, 'close');
  const begun = performance.now();
  expect(await stopping.stop()).toBe(0);
  expect(performance.now() - begun).toBeLessThan(4_000);
  await closed;
  expect(stopping.output()).not.toContain('a picture was taken');
});

describe('The document', () => {
  const operationAt = (path: string, method: string) => document.paths[path][method];

  test('names what an operation takes, how much, and the errors of that', () => {
    const { requestBody, responses } = operationAt('/uploads/picture', 'put');
    const schema = { type: 'string', format: 'binary', maxLength: 5_000_000 };
    const example = `data:image/png;base64,${PIXEL.toString('base64')}`;
    expect(requestBody).toEqual({
      description: 'At most 5 MB.',
      required: true,
      content: {
        'image/png': { schema, example },
        'image/jpeg': { schema },
      },
      'x-max-bytes': 5_000_000,
    });
    expect(responses[413].description).toBe('`payload_too_large`: The request body is larger than 5 MB.');
    expect(responses[413].content['application/json'].examples.payload_too_large.value.message).toBe(
      'The request body is larger than 5 MB.',
    );
    expect(responses[400].description).toContain('Content-Type: image/png or image/jpeg.');
    expect(responses[400].description).not.toContain('invalid_json');
  });

  test('names the class of JSON, with its example', () => {
    const { content } = operationAt('/uploads/names', 'post').requestBody;
    expect(content['application/json']).toEqual({
      schema: { $ref: '#/components/schemas/NewNames' },
      example: { names: ['Luna'] },
    });
    expect(document.components.schemas).not.toHaveProperty('Buffer');
  });
});

test.each([
  ['no type', { types: [], maxBytes: 1 }],
  ['a type that is none', { types: ['png'], maxBytes: 1, example: '' }],
  ['no bytes', { types: ['text/csv'], maxBytes: 0, example: '' }],
  ['more bytes than there is room for', { types: ['text/csv'], maxBytes: 2 ** 26, example: '' }],
  ['no example', { types: ['text/csv'], maxBytes: 1 }],
])('An operation that takes %s is refused by its name', async (_what, takes) => {
  const { Operation } = await import('../../src/platform/index.js');
  expect(() => Operation({ id: 'addThing', summary: 'Add', takes })).toThrow(/^addThing /);
});
