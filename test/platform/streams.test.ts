import 'reflect-metadata';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { get as httpGet, type IncomingMessage, request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { call, createKey } from '../../src/testing/client.js';
import { query } from '../../src/testing/service.js';
import { type Extended, startExtended } from '../support/extended.js';
import { withTableLocked } from '../support/held.js';
import { readMetrics, valueOf } from '../support/metrics.js';
import { eventually } from '../support/npm.js';
import { LATE_FILE, RecordingsController, RowCounter } from '../support/recordings.controller.js';
import { PIXEL, UploadsController } from '../support/uploads.controller.js';

let extended: Extended;
let key: string;
let otherKey: string;
// oxlint-disable-next-line typescript/no-explicit-any -- a test reads what it expects, and fails where that is not there
let document: any;

/** A stream whose source gives one line, and then nothing: it is cut off. */
let stalled: Promise<void>;

beforeAll(async () => {
  extended = await startExtended({}, RecordingsController, RowCounter, UploadsController);
  [key, otherKey] = [await createKey(extended), await createKey(extended)];
  stalled = readStalled();
  document = await (await fetch(`${extended.url}/openapi.json`)).json();
}, 60_000);
afterAll(() => extended.stop());
afterEach(() => setAhead(0));

const now = performance.now.bind(performance);
/** Lets the clock by which this process measures be so many milliseconds ahead; 0 restores it. */
const setAhead = (ms: number) => void (performance.now = () => now() + ms);

const bytes = (size: number) => Buffer.alloc(size, 'x');
const auth = () => ({ Authorization: `Bearer ${key}` });

function beginPicture(
  length: number | 'chunked',
  as = key,
  localAddress = '127.0.0.1',
  headers: Record<string, string> = {},
  body: string | Buffer = '',
): Socket {
  const socket = connect({ port: Number(new URL(extended.url).port), host: '127.0.0.1', localAddress });
  const size = length === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`;
  const start = ['PUT /v1/uploads/picture HTTP/1.1', 'Host: x', `Authorization: Bearer ${as}`];
  const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = `${[...start, 'Content-Type: image/png', size, ...more].join('\r\n')}\r\n\r\n`;
  // In one packet.
  socket.write(Buffer.concat([Buffer.from(head), Buffer.from(body)]));
  return socket.on('error', () => {});
}

/** The status of what comes over a socket next, unless that is its end. */
function statusOn(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    socket.once('data', (first: Buffer) => resolve(first.toString('latin1', 9, 12)));
    socket.once('close', () => resolve('closed'));
  });
}

/** What was sent before has come: other requests have, and their answers. */
async function arrive(): Promise<void> {
  for (let i = 0; i < 3; i++)
    expect((await fetch(`${extended.url}/v1/pets`, { headers: auth() })).status).toBe(200);
}

describe('A large body', () => {
  async function upload(
    method: string,
    path: string,
    body: string | Buffer | FormData,
    headers: Record<string, string> = {},
  ): Promise<[status: number, body: Record<string, unknown>]> {
    const answer = await call(extended, method, `/v1/uploads/${path}`, { key, body, headers });
    return [answer.status, answer.body];
  }
  const typed = (type: string) => ({ 'Content-Type': type });
  const picture = (body: Buffer, headers: Record<string, string> = {}) =>
    upload('PUT', 'picture', body, { ...typed('image/png'), ...headers });
  const error = (status: number, code: string, message: unknown = expect.any(String)) => [
    status,
    { code, message, status },
  ];

  function form(fields: Record<string, string | Buffer | Buffer[]>): FormData {
    const data = new FormData();
    for (const [name, value] of Object.entries(fields))
      for (const one of [value].flat())
        if (typeof one === 'string') data.append(name, one);
        else data.append(name, new Blob([Uint8Array.from(one)], { type: 'image/png' }), 'a.png');
    return data;
  }

  test('comes as bytes, of the types that its operation takes and no other', async () => {
    const kept = [200, { kind: 'Buffer', size: String(PIXEL.length) }];
    for (const type of ['image/png', 'IMAGE/JPEG', 'image/png; charset=binary'])
      expect(await picture(PIXEL, typed(type))).toEqual(kept);
    const message = 'The request needs the header Content-Type: image/png or image/jpeg.';
    for (const type of ['image/gif', 'application/json', 'image', 'image/pngs'])
      expect(await picture(PIXEL, typed(type))).toEqual(error(400, 'invalid_content_type', message));
  });

  test('may have as many bytes as its operation says, also compressed or in chunks, and not one more', async () => {
    const gzip = { 'Content-Encoding': 'gzip' };
    const whole = [200, { kind: 'Buffer', size: '5000000' }];
    expect(await picture(bytes(5_000_000))).toEqual(whole);
    expect(await picture(gzipSync(bytes(5_000_000)), gzip)).toEqual(whole);
    const tooLarge = error(413, 'payload_too_large', 'The request body is larger than 5 MB.');
    expect(await picture(bytes(5_000_001))).toEqual(tooLarge);
    expect(await picture(gzipSync(bytes(5_000_001)), gzip)).toEqual(tooLarge);
    expect(await picture(gzipSync(bytes(100_000_000)), gzip)).toEqual(tooLarge);
    const socket = beginPicture('chunked');
    socket.write(`${(5_000_001).toString(16)}\r\n`);
    socket.write(bytes(5_000_001));
    expect(await statusOn(socket)).toBe('413');
    socket.destroy();
  });

  test('stands beside others in one operation, JSON among them, which is checked as any other', async () => {
    const json = typed('application/json');
    const csv = typed('text/csv; charset=utf-8');
    const lines = (body: string, headers = json) => upload('POST', 'lines', body, headers);
    expect(await lines('a,b', csv)).toEqual([200, { kind: 'text', size: 'a,b' }]);
    expect(await lines('{"a": 1}')).toEqual([200, { kind: 'json', size: '{"a":1}' }]);
    expect(await lines('{')).toEqual(error(400, 'invalid_json'));
    const names = (count: number, length: number) =>
      upload('POST', 'names', JSON.stringify({ names: Array(count).fill('x'.repeat(length)) }), json);
    expect(await names(100, 10_000)).toEqual([200, { kind: 'names', size: '100' }]);
    expect(await names(1, 10_001)).toEqual(error(400, 'validation_failed'));
    const message = 'The request body is larger than 1 MB.';
    expect(await names(110, 10_000)).toEqual(error(413, 'payload_too_large', message));
  });

  test('is compared for its Idempotency-Key: bytes one by one, forms by their parts', async () => {
    const { calls } = UploadsController;
    const keyed = { 'Idempotency-Key': 'a-picture' };
    const first = await picture(PIXEL, keyed);
    expect(await picture(PIXEL, keyed)).toEqual(first);
    const other = Buffer.from(PIXEL).fill(0, PIXEL.length - 1);
    expect(await picture(other, keyed)).toEqual(error(422, 'idempotency_key_reused'));
    // Each form has another boundary.
    const photo = (caption: string) =>
      upload('POST', 'photos', form({ caption, photo: PIXEL }), { 'Idempotency-Key': 'a-form' });
    const sent = await photo('Luna');
    expect([sent[0], await photo('Luna')]).toEqual([200, sent]);
    expect(await photo('Lun')).toEqual(error(422, 'idempotency_key_reused'));
    expect(UploadsController.calls).toBe(calls + 2);
  });

  test('is compared for its Idempotency-Key in a moment, however often a form has its boundary in it', async () => {
    const start = (name: string) => `---\r\nContent-Disposition: form-data; name="${name}`;
    const body = Buffer.concat([
      Buffer.from(`${start('caption')}"\r\n\r\nLuna\r\n${start('photo')}"; filename="a.png"\r\n\r\nx`),
      Buffer.alloc(4_900_000, '-'),
      Buffer.from('\r\n-----\r\n'),
    ]);
    const headers = { ...typed('multipart/form-data; boundary=-'), 'Idempotency-Key': 'a-form-of-hyphens' };
    const before = process.cpuUsage();
    const kept = [200, { kind: 'Luna 0', size: expect.stringContaining(' 4900001') }];
    expect(await upload('POST', 'photos', body, headers)).toEqual(kept);
    // In microseconds, of the client too.
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
    const other = Buffer.from(body).fill('x', 1_000_000, 1_000_001);
    expect(await upload('POST', 'photos', other, headers)).toEqual(error(422, 'idempotency_key_reused'));
  });

  test('is a form by the interceptors of Nest, its fields by their class', async () => {
    const fields = { caption: 'Luna', age: '7', photo: bytes(3_000_000) };
    const kept = { kind: 'Luna 7', size: 'a.png image/png 3000000' };
    expect(await upload('POST', 'photos', form(fields))).toEqual([200, kept]);
    const album = (all: Parameters<typeof form>[0]) => upload('POST', 'albums', form(all));
    const three = [200, { kind: 'album', size: '70 5 70' }];
    expect(await album({ photos: [PIXEL, bytes(5), PIXEL] })).toEqual(three);
    const noCaption = error(400, 'validation_failed', expect.stringMatching(/^caption/));
    expect(await upload('POST', 'photos', form({ age: '7', photo: PIXEL }))).toEqual(noCaption);
    const unexpected = error(400, 'bad_request', expect.stringMatching(/Unexpected/));
    expect(await album({ other: PIXEL })).toEqual(unexpected);
    const noForm = error(400, 'bad_request');
    expect(await album({ photos: [PIXEL, PIXEL, PIXEL, PIXEL] })).toEqual(noForm);
    expect(await album({ a: '1', b: '2', c: '3', d: '4', e: '5', f: '6' })).toEqual(noForm);
    expect(await album({ photos: bytes(100_001) })).toEqual(error(413, 'payload_too_large'));
    const ofForm = typed('multipart/form-data; boundary=x');
    for (const body of ['nothing of a form', ''])
      expect(await upload('POST', 'albums', body, ofForm)).toEqual(noForm);
    const mixed = await upload('POST', 'albums', '--x--', typed('multipart/mixed; boundary=x'));
    expect(mixed).toEqual(error(400, 'invalid_content_type', expect.stringMatching(/multipart\/form-data/)));
  });

  test('is in the document with its types, its size and the errors of that', () => {
    const { requestBody, responses } = document.paths['/uploads/picture'].put;
    const schema = { type: 'string', format: 'binary', maxLength: 5_000_000 };
    const example = `data:image/png;base64,${PIXEL.toString('base64')}`;
    expect(requestBody).toEqual({
      description: 'At most 5 MB.',
      required: true,
      content: {
        'image/png': { schema: { ...schema, example }, example },
        'image/jpeg': { schema: { ...schema, example }, example },
      },
      'x-max-bytes': 5_000_000,
    });
    expect(responses[413].description).toBe('`payload_too_large`: The request body is larger than 5 MB.');
    expect(responses[400].description).toContain('Content-Type: image/png or image/jpeg.');
    expect(responses[400].description).not.toContain('invalid_json');
    const bodyOf = (name: string) => {
      const media = document.paths[`/uploads/${name}`].post.requestBody.content['multipart/form-data'];
      return { ...media, schema: document.components.schemas[media.schema.$ref.split('/').at(-1)] };
    };
    expect(bodyOf('photos')).toMatchObject({
      schema: {
        required: ['caption', 'photo'],
        properties: { caption: { maxLength: 100 }, photo: { type: 'string', format: 'binary' } },
      },
      example: { caption: 'Luna', photo: example },
    });
    expect(bodyOf('albums').schema.properties.photos.items).toMatchObject({ format: 'binary' });
    // What no sample shows, a team adds by Swagger's own decorator.
    expect(document.paths['/uploads/photos'].post).not.toHaveProperty('x-codeSamples');
    expect(document.paths['/uploads/albums'].post['x-codeSamples']).toEqual([
      { lang: 'Shell', source: 'curl' },
    ]);
    expect(document.paths['/uploads/names'].post.requestBody.content['application/json']).toEqual({
      schema: { $ref: '#/components/schemas/NewNames' },
      example: { names: ['Luna'] },
    });
  });

  test('slower than 16 kB a second is given up, and a faster body goes on', async () => {
    const [crawling, steady] = [beginPicture(1_000_000), beginPicture(1_000_000)];
    crawling.write(bytes(16_000));
    steady.write(bytes(200_000));
    const answers = [statusOn(crawling), statusOn(steady)];
    await arrive();
    setAhead(10_000);
    for (const socket of [crawling, steady]) socket.write(bytes(100));
    await arrive();
    // So both have sent something within the last 15 seconds.
    setAhead(20_000);
    expect(await answers[0]).toBe('408');
    steady.write(bytes(799_900));
    expect(await answers[1]).toBe('200');
    for (const socket of [crawling, steady]) socket.destroy();
  });

  test('of one client, and hundreds of slow ones, leave another client its share', async () => {
    const crawling = Array.from({ length: 300 }, () => beginPicture(5_000_000));
    for (const socket of crawling) socket.write(bytes(100));
    await arrive();
    for (let i = 0; i < 10; i++) {
      const socket = beginPicture(1_000_000, otherKey, '127.0.0.2');
      socket.write(bytes(1_000_000));
      expect(await statusOn(socket)).toBe('200');
      socket.destroy();
    }
    for (const socket of crawling) socket.destroy();
    await eventually(async () => (await picture(PIXEL))[0] === 200);
  });

  test('takes its share of the memory where it is compressed, although all of it has come at once', async () => {
    const small = gzipSync(bytes(5_000_000));
    const { arrayBuffers: before } = process.memoryUsage();
    let most = 0;
    const look = setInterval(() => (most = Math.max(most, process.memoryUsage().arrayBuffers)), 5).unref();
    await withTableLocked(extended, 'idempotency_keys', async () => {
      const sent = Array.from({ length: 60 }, (_, i) => {
        const headers = { 'Content-Encoding': 'gzip', 'Idempotency-Key': `compressed-${i}` };
        return statusOn(beginPicture(small.length, key, '127.0.0.1', headers, small));
      });
      for (const status of await Promise.all(sent)) expect(['409', '503']).toContain(status);
    });
    clearInterval(look);
    expect(most - before).toBeLessThan(150_000_000);
  });

  test('that does not come under a used Idempotency-Key is no other request: the client may send it again', async () => {
    const keyed = { 'Idempotency-Key': 'a-cut-off-picture' };
    const first = await picture(PIXEL, keyed);
    const repeated = beginPicture(PIXEL.length, key, '127.0.0.1', keyed);
    repeated.write(PIXEL.subarray(0, 10));
    await arrive();
    setAhead(20_000);
    expect(await statusOn(repeated)).toBe('408');
    setAhead(0);
    const crawling = Array.from({ length: 10 }, () => beginPicture(5_000_000));
    for (const socket of crawling) socket.write(bytes(100));
    await arrive();
    const waiting = beginPicture(PIXEL.length * 70_000, key, '127.0.0.1', keyed);
    waiting.write(PIXEL);
    expect(await statusOn(waiting)).toBe('503');
    for (const socket of [repeated, waiting, ...crawling]) socket.destroy();
    await eventually(async () => (await picture(PIXEL, keyed))[0] === 200);
    expect(await picture(PIXEL, keyed)).toEqual(first);
  });

  test.each([
    ['beside its body, for which half of the memory was reserved', 16_000_000],
    ['that is longer than half of the memory', 70_000_000],
  ])('has its whole answer, also one %s', async (_, length) => {
    // In chunks, so that the request reserves memory for as many bytes as its operation takes.
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(Buffer.from('{"length":'));
        await arrive();
        controller.enqueue(Buffer.from(`${length}}`));
        controller.close();
      },
    });
    const headers = { ...auth(), 'Content-Type': 'application/json' };
    const answer = await fetch(`${extended.url}/v1/uploads/long`, {
      ...{ method: 'POST', headers, body, duplex: 'half' },
    });
    expect(answer.status).toBe(200);
    expect((await answer.text()).length).toBe('{"kind":"long","size":""}'.length + length);
  });

  test('of which one client reads nothing take its share of the memory: further connections are cut off', async () => {
    const length = 16_000_000;
    const headers = { ...auth(), 'Content-Type': 'application/json' };
    const options = { method: 'POST', headers, agent: false as const, localAddress: '127.0.0.9' };
    const begin = async () => {
      const sent = httpRequest(`${extended.url}/v1/uploads/long`, options).on('error', () => {});
      sent.end(JSON.stringify({ length }));
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      return answer.on('error', () => {}).pause();
    };
    const answers = await Promise.allSettled(Array.from({ length: 10 }, begin));
    let whole = 0;
    for (const { value } of answers as PromiseFulfilledResult<IncomingMessage | undefined>[])
      if (value && (await text(value).catch(() => '')).length > length) whole++;
    expect(whole).toBeGreaterThan(1);
    expect(whole).toBeLessThan(8);
  });
});

const ask = (path: string, headers: Record<string, string> = {}, at = extended.url) =>
  fetch(`${at}/v1/recordings/${path}`, { headers: { ...auth(), ...headers } });
async function readStalled(): Promise<void> {
  const response = await askAs('stalled', 'lines?lines=2&pauseMs=60000');
  await expect(response.text()).rejects.toThrow();
}
const askAs = (id: string, path: string) => ask(path, { 'X-Request-Id': id });
const post = (path: string, body: object, at = extended) =>
  call(at, 'POST', `/v1/recordings/${path}`, { key, body });
const listPets = (at = extended) => call(at, 'GET', '/v1/pets', { key });

/** The log's line of the request with an id, once it has ended. */
async function lineOf(requestId: string): Promise<Record<string, unknown>> {
  const find = () => extended.lines.find((line) => line.requestId === requestId && 'status' in line);
  await eventually(() => find() !== undefined);
  return find()!;
}
/** What the log tells of a request beside its line. */
const toldOf = (id: string) =>
  extended.lines.filter(({ requestId, msg }) => requestId === id && msg !== undefined).map(({ msg }) => msg);
const metric = async (name: string, labels = {}) => valueOf(await readMetrics(extended), name, labels);

/**
 * What an operation answers that has no first byte in its time, which is over before that of one which was asked later, and has
 * 3.5 seconds.
 */
async function answerInTime(path: string, requestId: string): Promise<number> {
  let isAnswered = false;
  const answer = askAs(requestId, path).finally(() => (isAnswered = true));
  await eventually(async () => isAnswered || (await metric('http_server_active_requests')) === 1);
  const later = `later-than-${requestId}`;
  await askAs(later, 'patient');
  await Promise.all([lineOf(requestId), lineOf(later)]);
  const ended = extended.lines.filter((line) => 'status' in line).map((line) => line.requestId);
  expect(ended.indexOf(requestId)).toBeLessThan(ended.indexOf(later));
  return (await answer).status;
}

function open(
  path: string,
  requestId: string,
  as = key,
  localAddress = '127.0.0.1',
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${as}`, 'X-Request-Id': requestId };
    const url = `${extended.url}/v1/recordings/${path}`;
    httpGet(url, { headers, agent: false, localAddress }, resolve).on('error', reject);
  });
}

let leaving = new AbortController();
afterEach(() => {
  leaving.abort();
  leaving = new AbortController();
});

async function hear(more: Record<string, string> = {}, at = extended.url, route = 'heard', leave = leaving) {
  const headers = { ...auth(), ...more };
  const response = await fetch(`${at}/v1/recordings/${route}`, { headers, signal: leave.signal });
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  let text = '';
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) text += decoder.decode(chunk as Uint8Array, { stream: true });
  };
  const ended = read().catch((error: Error) => {
    if (error.name !== 'AbortError') throw error;
  });
  return { text: () => text, has: (part: string) => eventually(() => text.includes(part)), ended };
}

async function streaming(): Promise<number> {
  const active = await query(
    extended.databaseUrl,
    `SELECT FROM pg_stat_activity
     WHERE application_name = 'petstore-streams' AND datname = current_database() AND state = 'active'`,
  );
  return active.length;
}
const allFree = () => eventually(async () => (await streaming()) === 0);
const cutOff = (application: string) =>
  query(
    extended.databaseUrl,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()`,
    [application],
  );

const WAYS = ['lines', 'piped', 'generated'];

describe('A stream', () => {
  test('goes on after the deadline as long as it is read, and is logged with its bytes', async () => {
    const [heard, rows] = [await hear(), await open('rows?rows=100000000', 'left-rows')];
    await once(rows, 'readable');
    const whole = WAYS.map(async (way) => {
      const response = await askAs(`slow-${way}`, `${way}?lines=4&pauseMs=1100`);
      expect([response.status, (await response.text()).length]).toEqual([200, 4 * 1_024]);
      const line = await lineOf(`slow-${way}`);
      expect(line).toMatchObject({ status: 200, bytes: 4 * 1_024 });
      expect(line).not.toHaveProperty('aborted');
      expect(line.durationMs).toBeGreaterThan(3_000);
    });
    await Promise.all(whole);
    await post('said', { text: 'after all' });
    await heard.has('data: after all');
    // Rows are fetched as they are read, and no more when the client has left.
    expect(await streaming()).toBe(1);
    let read = 0;
    for await (const chunk of rows) if ((read += (chunk as Buffer).length) > 10_000_000) break;
    expect(read).toBeGreaterThan(10_000_000);
    await allFree();
    expect(await lineOf('left-rows')).toMatchObject({ status: 200, aborted: true });
  });

  test.each(WAYS)(
    'whose source fails midway is cut off, never complete, and logged once: %s',
    async (way) => {
      const id = `failing-${way}`;
      const response = await askAs(id, `${way}?lines=1000&failsAfter=500`);
      expect(response.status).toBe(200);
      await expect(response.text()).rejects.toThrow();
      expect(await lineOf(id)).toMatchObject({ status: 200, aborted: true, code: 'internal_error' });
      expect(toldOf(id)).toEqual(['internal_error: Error: The source has failed']);
    },
  );

  test.each(WAYS)(
    'whose client leaves is logged as aborted, and its source is not read on: %s',
    async (way) => {
      const id = `left-${way}`;
      const response = await open(`${way}?lines=1000000`, id);
      await once(response, 'readable');
      response.destroy();
      const line = await lineOf(id);
      expect(line).toMatchObject({ status: 200, aborted: true });
      expect(line.bytes).toBeLessThan(100_000_000);
      expect(toldOf(id)).toEqual([]);
    },
  );

  test('whose source gives nothing for 30 seconds is cut off, and the log says why', async () => {
    await stalled;
    const line = await lineOf('stalled');
    expect(line).toMatchObject({ status: 200, aborted: true, bytes: 1_024 });
    expect(line.durationMs).toBeGreaterThan(30_000);
    expect(toldOf('stalled')).toEqual(['A stream was cut off: its source sent nothing for too long']);
  });

  test('that cannot begin is an error like any other, and so is one whose first byte comes late: 503 in time', async () => {
    const response = await ask('missing');
    const message = 'Something went wrong on our side.';
    const expected = { code: 'internal_error', message, status: 500 };
    expect([response.status, await response.json()]).toEqual([500, expected]);
    // The first line of a generator that Nest asks for before it sends anything.
    expect(await answerInTime('generated?lines=2&pauseMs=0&firstMs=10000', 'late')).toBe(503);
  });

  test('that starts after the deadline leaves no file open', async () => {
    const isOpen = (fd: string) => {
      // Others of the process close theirs meanwhile.
      try {
        return readlinkSync(`/proc/self/fd/${fd}`) === LATE_FILE;
      } catch {
        return false;
      }
    };
    const late = Array.from({ length: 20 }, (_, i) => ask(i % 2 === 0 ? 'late-file' : 'late-piped'));
    expect(new Set((await Promise.all(late)).map(({ status }) => status))).toEqual(new Set([503]));
    await eventually(
      () => RecordingsController.opened === 20 && readdirSync('/proc/self/fd').filter(isOpen).length === 0,
    );
  });

  test('is counted as a stream, and not as an active request', async () => {
    const response = await open('lines?lines=1000000', 'counted');
    await once(response, 'readable');
    await eventually(async () => (await metric('http_server_active_streams')) === 1);
    expect(await metric('http_server_active_requests')).toBe(0);
    response.destroy();
    await eventually(async () => (await metric('http_server_active_streams')) === 0);
    expect(await metric('http_server_streams_total', { end: 'aborted' })).toBeGreaterThan(0);
  });

  test('that is read as fast as it comes, and many of them, leave others their answers', async () => {
    const reading = await readAll('lines?lines=100000000', 12);
    for (let i = 0; i < 10; i++) expect((await listPets()).status).toBe(200);
    reading.kill('SIGKILL');
  });
});

/** Reads streams in a process of its own, as fast as it can, from two addresses. Resolves once all have begun. */
async function readAll(path: string, count: number): Promise<ChildProcess> {
  const { port } = new URL(extended.url);
  const request = `GET /v1/recordings/${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  const openOne = `(i) => require('net')
    .connect({ port: ${port}, host: '127.0.0.1', localAddress: '127.0.0.' + (1 + (i % 2)) })
    .once('data', () => console.log('begun'))
    .on('data', () => {})
    .write(${JSON.stringify(request)})`;
  const program = `for (let i = 0; i < ${count}; i++) (${openOne})(i);`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await eventually(() => said.split('begun').length > count);
  return child;
}

describe('Rows from the database', () => {
  test('are sent however many they are, to the last, of a query in SQL or of the builder', async () => {
    const lines = (await (await ask('rows?rows=100000&bytes=20')).text()).split('\n');
    expect([lines.length, lines.at(-2)]).toEqual([100_002, `100000,${'x'.repeat(20)}`]);
    expect(await (await ask('rows?rows=0')).text()).toBe('id,text\n');
    const [names] = await query<{ names: string }>(
      extended.databaseUrl,
      `SELECT string_agg(id || ',' || name, E'\\n' ORDER BY id) AS names FROM categories WHERE id <= 2`,
    );
    expect(await (await ask('built-rows?rows=2')).text()).toBe(`id,text\n${names!.names}\n`);
    await allFree();
  });

  test('whose first comes late are answered 503 in time, and the database does not work on', async () => {
    expect(await answerInTime('rows?firstMs=60000', 'late-rows')).toBe(503);
    await allFree();
  });

  test('are refused 503 where all connections for them are taken, and no one client has them all', async () => {
    const taken = await Promise.all([1, 2, 3].map((i) => open('rows?rows=100000000', `taken-${i}`)));
    expect((await ask('rows')).status).toBe(503);
    const other = await open('rows?rows=100000000', 'other', otherKey, '127.0.0.2');
    expect(other.statusCode).toBe(200);
    expect((await listPets()).status).toBe(200);
    for (const response of [...taken, other]) response.destroy();
    await allFree();
  });

  test('that cannot be read to the end are cut off, and nothing of what they hold is in the log', async () => {
    const response = await askAs('failing-rows', 'failing-rows');
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
    await lineOf('failing-rows');
    expect(toldOf('failing-rows')).toEqual(['internal_error: error: SQLSTATE 22P02']);
    expect(extended.output()).not.toContain('what was sent');
  });

  test('end with the connection where that is lost, never complete', async () => {
    const response = await askAs('lost-rows', 'rows?rows=100000000');
    await cutOff('petstore-streams');
    await expect(response.text()).rejects.toThrow();
    await lineOf('lost-rows');
    expect(toldOf('lost-rows')).toEqual([expect.stringMatching(/^service_unavailable: /)]);
    expect(await lineOf('lost-rows')).toMatchObject({ aborted: true, code: 'service_unavailable' });
  });

  test('are read in a job, to the last, and the connection is free again', async () => {
    expect((await post('counted', {})).status).toBe(204);
    await eventually(() => RowCounter.counts.length > 0);
    expect(RowCounter.counts).toEqual([100_000]);
    await allFree();
  });
});

describe('Server-sent events', () => {
  test('reach all instances, and end whole as soon as one begins to stop, while it waits for a download', async () => {
    const other = await startExtended(extended.databaseUrl, RecordingsController, RowCounter);
    const [here, there] = [await hear(), await hear({}, other.url)];
    expect((await post('said', { text: 'from afar' }, other)).status).toBe(204);
    for (const one of [here, there]) await one.has('data: from afar');
    const download = await ask('lines?lines=1000&pauseMs=100', {}, other.url);
    let isStopped = false;
    const stop = other.stop().then(() => (isStopped = true));
    await there.ended;
    const reading = download.body!.getReader();
    for (let i = 0; i < 3; i++) expect(await reading.read()).toMatchObject({ done: false });
    expect(isStopped).toBe(false);
    await reading.cancel();
    await stop;
  });

  test('end where the connection to the database is lost, and go on after the one that their client names', async () => {
    const before = await hear();
    await post('said', { text: 'heard' });
    await before.has('data: heard');
    const [, last] = /id: (\d+)\ndata: heard/.exec(before.text())!;
    await cutOff('petstore-events');
    await before.ended;
    await post('said', { text: 'missed' });
    const after = await hear({ 'Last-Event-ID': last! });
    await after.has('data: missed');
    await post('said', { text: 'heard again' });
    await after.has('data: heard again');
    // An event may come twice.
    const words = [...after.text().matchAll(/data: (.*)/g)].map(([, text]) => text);
    expect([...new Set(words)]).toEqual(['missed', 'heard again']);
  });

  test('whose source fails have an event without an id, and nothing of what was sent is in the log', async () => {
    const response = await askAs('failing-events', 'failing');
    expect(await response.text()).toBe(
      '\nid: 7\ndata: seven\n\nevent: error\ndata: Internal server error\n\n',
    );
    await lineOf('failing-events');
    expect(extended.output()).not.toContain('what was sent');
  });

  test('reach each pipeline, with a transaction of its own, in the context of its subscriber, whoever came first and has left', async () => {
    // The next subscriber opens the connection again.
    const earlier = await hear();
    await cutOff('petstore-events');
    await earlier.ended;
    const leave = new AbortController();
    const names = ['first-to-leave', 'second', 'third'];
    const all: Awaited<ReturnType<typeof hear>>[] = [];
    for (const [i, name] of names.entries()) {
      const signal = i === 0 ? leave : undefined;
      all.push(await hear({ 'X-Request-Id': name }, extended.url, 'confirmed', signal));
      // The answer begins before the connection is open.
      await eventually(async () => {
        await post('said', { text: 'before' });
        return all[i]!.text().includes(`data: before for ${name}\n`);
      }, 20_000);
    }
    leave.abort();
    await lineOf('first-to-leave');
    // Until the deadline that the first request had is over.
    await sleep(3_000);
    await post('said', { text: 'after' });
    for (const [i, name] of names.entries()) if (i > 0) await all[i]!.has(`data: after for ${name}\n`);
  });

  test('have a comment after 15 seconds without an event, and not before', async () => {
    const heard = await hear();
    await post('said', { text: 'hello' });
    await heard.has('hello');
    const before = heard.text();
    setAhead(8_000);
    // Streams are looked at every second.
    await sleep(1_200);
    expect(heard.text()).toBe(before);
    setAhead(0);
    setAhead(15_000);
    await eventually(() => heard.text() === `${before}:\n\n`);
  });

  test('are not sent for an undone transaction or without a key; an event too large for PostgreSQL is an error', async () => {
    const heard = await hear();
    expect((await post('unsaid', { text: 'undone' })).status).toBe(204);
    await post('said', { text: 'done' });
    await heard.has('data: done');
    expect(heard.text()).not.toContain('undone');
    expect((await post('said', { text: 'x'.repeat(9_000) })).status).toBe(500);
    const response = await fetch(`${extended.url}/v1/recordings/heard`);
    expect([response.status, await response.json()]).toMatchObject([401, { code: 'missing_api_key' }]);
  });
});

test('An error has no header of the answer that it replaces', async () => {
  const response = await ask('labelled');
  const { headers } = response;
  expect([response.status, await response.json()]).toMatchObject([400, { code: 'bad_request' }]);
  const left = ['content-encoding', 'content-disposition', 'etag'].filter((name) => headers.has(name));
  expect([left, headers.get('cache-control')]).toEqual([[], 'no-store']);
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
});

describe('An operation with a time of its own', () => {
  test('that is longer than the operator allows ends the start, by its name', async () => {
    const env = { DATABASE_URL: extended.databaseUrl, OPERATION_MAX_SECONDS: '9' };
    await expect(startExtended(env, RecordingsController)).rejects.toThrow(
      'OPERATION_MAX_SECONDS is 9, but getReport may take 10 seconds.',
    );
  });

  test('leaves nothing behind when it is over: neither its statement nor its connection', async () => {
    const running = () =>
      query(
        extended.databaseUrl,
        `SELECT FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(20)%' AND state = 'active'`,
      );
    RecordingsController.wakesAfter = 20;
    // One client has half of the connections: one of two.
    expect((await ask('nap')).status).toBe(503);
    RecordingsController.wakesAfter = 0;
    expect((await ask('nap')).status).toBe(200);
    await eventually(async () => (await running()).length === 0, 10_000);
  });

  test('has it from the database too, and leaves those without one their connections', async () => {
    // More than there are connections, all of one client.
    const over = new AbortController();
    const url = `${extended.url}/v1/recordings/report`;
    const reports = Array.from({ length: 12 }, () => fetch(url, { headers: auth(), signal: over.signal }));
    const done = new AbortController();
    const first = Promise.race(reports).finally(() => done.abort());
    const lists: number[] = [];
    while (!done.signal.aborted) lists.push((await listPets()).status);
    expect((await first).status).toBe(200);
    expect(new Set(lists)).toEqual(new Set([200]));
    // Each of them before the first report, so that none has waited for one.
    expect(lists.length).toBeGreaterThan(3);
    over.abort();
    await Promise.allSettled(reports);
  });
});
