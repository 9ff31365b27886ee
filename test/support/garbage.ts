import { connect } from 'node:net';
import fc, { type Arbitrary } from 'fast-check';
import type { TestedService } from '../../src/testing/service.js';

export interface RawAnswer {
  status: number;
  headers: Headers;
  text: string;
}

const TARGETS = [
  ...['*', '/', '//', '/v1//pets', '/v1/pets/', '/v1/pets/../pets', '/v1/pets;x=1', '/v1/pets#x'],
  ...['/v1/pets/%', '/v1/pets/%zz?limit=%', '/v1/pets/%ff', '/v1/pets/%00', '/v1/pets/%2e%2e'],
  ...['http://', 'http://[::1', 'http://x:99999999/v1/pets', 'http://a@b:c/', 'https://x', '/\\x'],
  ...['javascript:alert(1)', '/v1/pets?a\\b', 'x:443', '/é', '//x@[::1#', 'http://x/v1/pets#\xA0'],
  ...['/v1/pets\xA0', '/v1/messages/%E0%A4%A', `/v1/pets/${'%31'.repeat(3e3)}`, `/${'/'.repeat(8e3)}x`],
  ...['/v1/api-keys/1', `/v1/pets?${'a=1&'.repeat(3e3)}`, '/v1/pets?__proto__[x]=1', '/messages'],
  ...['/docs/..%2f..%2fpackage.json', 'http://x/v1/pets'],
];
const METHODS = [
  ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT', 'QUERY', 'get'],
];
const HEADERS = [
  ...['Host: y', 'Host:', 'Host: [', 'Host: a b', 'Content-Length: 5', 'Content-Length: -1', 'Expect: x'],
  ...['Content-Length: 1e9', 'Transfer-Encoding: chunked', 'Transfer-Encoding: gzip, chunked'],
  ...['Transfer-Encoding: x', 'Expect: 100-continue', 'Connection: Upgrade\r\nUpgrade: websocket'],
  ...['Upgrade: h2c', 'Connection: close', 'Authorization: Bearer', 'Authorization: Basic Og=='],
  ...['Authorization: Basic !', 'Authorization:\r\n Bearer x', 'Content-Encoding: gzip'],
  ...['Content-Type: application/json', 'Content-Type: application/json; charset=x'],
  ...[`Content-Type: application/json${' '.repeat(9e3)}x`, `X-${'n'.repeat(9e3)}: 1`],
  `X: ${'v'.repeat(2e4)}`,
  ...['X-Request-Id: a	b', 'X-Forwarded-For: x', 'X-Forwarded-Proto: javascript', 'Idempotency-Key: é'],
  ...[': x', 'X : 1', 'X:\0', 'X: ', 'Range: bytes=0-', 'If-Match: *', 'Origin: null', 'Accept: x/y'],
];
const BODIES = [
  ...['', '{}', '{"name":"Rex","categoryId":1}', '5\r\n{}\r\n', '0\r\n\r\n', 'ffffffffff\r\n'],
  '2;x\r\n{}\r\n0\r\n',
];
const LINE_ENDS = ['\r\n', '\r\n', '\r\n', '\n', '\r', '\r\n\r\n', '\n\r'];

/** Bytes that are almost a request. `authorization` is sent as a header, if given. */
export function garbage(authorization?: string): Arbitrary<Buffer> {
  const text = fc
    .record({
      method: fc.constantFrom(...METHODS),
      target: fc.oneof(fc.constantFrom(...TARGETS), fc.webPath(), fc.string({ unit: 'binary-ascii' })),
      version: fc.constantFrom('1.1', '1.1', '1.1', '1.1', '1.0', '0.9', '2.0', '1.10', ''),
      headers: fc.array(fc.constantFrom(...HEADERS), { maxLength: 4 }),
      end: fc.constantFrom(...LINE_ENDS),
      body: fc.constantFrom(...BODIES),
    })
    .map(({ method, target, version, headers, end, body }) => {
      const credentials = authorization ? [`Authorization: ${authorization}`] : [];
      const first = `${method} ${target} HTTP/${version}`;
      return Buffer.from([first, 'Host: x', ...credentials, ...headers, '', body].join(end), 'latin1');
    });
  const mutated = fc.tuple(text, fc.array(mutation(), { maxLength: 4 }));
  return fc.oneof(
    { weight: 6, arbitrary: text },
    {
      weight: 5,
      arbitrary: mutated.map(([bytes, all]) => all.reduce<Buffer>((now, mutate) => mutate(now), bytes)),
    },
    { weight: 1, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 300 }).map((all) => Buffer.from(all)) },
  );
}

function mutation(): Arbitrary<(bytes: Buffer) => Buffer> {
  const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  return fc
    .tuple(fc.nat(3), place, fc.integer({ min: 0, max: 255 }))
    .map(([kind, ratio, value]) => (bytes: Buffer) => {
      const at = Math.floor(bytes.length * ratio);
      const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
      if (kind === 0)
        return Buffer.concat([before, Buffer.from([after[0]! ^ (1 << (value % 8))]), after.subarray(1)]);
      if (kind === 1) return Buffer.from(before);
      if (kind === 2) return Buffer.concat([before, after.subarray(0, value), after]);
      return Buffer.concat([before, Buffer.from([value]), after]);
    });
}

/**
 * Sends bytes and returns every response. Half-closes the connection a moment later, in case the server waits
 * for more; with `reset`, resets the connection at once instead.
 */
export async function exchange({ url }: TestedService, bytes: Buffer, reset = false): Promise<RawAnswer[]> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await new Promise<void>((resolve) => {
    socket.once('close', resolve);
    socket.write(bytes, () => {
      if (reset) socket.resetAndDestroy();
      else setTimeout(() => socket.end(), 80);
    });
    setTimeout(() => socket.destroy(), 5_000).unref();
  });
  // Empty lines before a request are ignored (RFC 9112, 2.2).
  return parse(Buffer.concat(chunks), /^[\r\n]*HEAD /.test(bytes.toString('latin1')));
}

function parse(bytes: Buffer, isHead: boolean): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = bytes.toString('latin1');
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n') + 4;
    const [first = '', ...lines] = rest.slice(0, end).trimEnd().split('\r\n');
    const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(first) ?? [];
    if (!status) throw new Error(`This is no response: ${rest.slice(0, 200)}`);
    const headers = new Headers(lines.map((line) => line.split(/: ?(.*)/s).slice(0, 2) as [string, string]));
    // An answer to HEAD has no body, unless the service could not parse the HEAD.
    const isBare = isHead && rest[end] !== '{';
    const length = isBare ? 0 : Number(headers.get('content-length') ?? 0);
    const text = Buffer.from(rest.slice(end, end + length), 'latin1').toString();
    if (Number(status) >= 200) answers.push({ status: Number(status), headers, text });
    rest = rest.slice(end + length);
  }
  return answers;
}
