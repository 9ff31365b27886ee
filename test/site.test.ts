import { execFile, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { type IncomingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { Webhook } from 'standardwebhooks';
import { call, createKey, expectError } from '../src/testing/client.js';
import { document, operations } from '../src/testing/document.js';
import { type Service, sharedService, startService, type TestedService } from '../src/testing/service.js';
import { eventually, newFolder, removeFolders } from './support/npm.js';

const run = promisify(execFile);
const SECRET = `whsec_${Buffer.alloc(24, 'secret').toString('base64')}`;

const hosted = sharedService();
/** On its embedded database, and on all addresses. */
let embedded: Service;
/** What a start on the same database said, served and delivered, with addresses of its own. */
let configured: { policy: string; document: typeof document; messageId: string };
const folder = newFolder();
let receiver: Awaited<ReturnType<typeof startReceiver>>;

beforeAll(async () => {
  const env = { DATABASE_URL: '', DATA_DIR: join(folder, 'data'), HOST: '' };
  receiver = await startReceiver();
  const there = await startService({
    ...env,
    BASE_URL: 'https://api.example.com/v1',
    STAGING_URL: 'https://staging.example.com/v1',
    API_URL: 'https://messages.example.com/',
    MESSAGES_WEBHOOK_URL: receiver.address,
    MESSAGES_WEBHOOK_SECRET: SECRET,
  });
  const key = await createKey(there);
  const body = { message: 'Grüße, 🐈!' };
  const { id } = (await call(there, 'POST', '/v1/messages', { key, body })).body;
  const message = () => call(there, 'GET', `/v1/messages/${id}`, { key });
  await eventually(async () => (await message()).body.status === 'delivered');
  configured = {
    policy: (await call(there, 'GET', '/docs')).headers.get('content-security-policy')!,
    document: (await call(there, 'GET', '/openapi.json')).body,
    messageId: id,
  };
  await there.stop();
  embedded = await startService(env);
});
afterAll(async () => {
  receiver.stop();
  await embedded.stop();
  await removeFolders();
});

const policy = (styles = '') =>
  `default-src 'none'; script-src 'self'; style-src 'self'${styles}; img-src 'self' data:; ` +
  `connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`;

/** What every page has, value by value: its own files run there alone, and no other page may read, frame or open it. */
const PAGE_HEADERS = {
  'content-security-policy': policy(),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'content-type': 'text/html; charset=utf-8',
  'x-content-type-options': 'nosniff',
};
/** What belongs to one answer, or to the connection. */
const OF_ITS_OWN = new Set([
  ...['connection', 'content-length', 'date', 'etag', 'keep-alive', 'link', 'vary', 'x-request-id'],
]);

const PAGES = ['/', '/reference', '/guides', '/guides/errors'];
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

test('The addresses of the configuration are in the document, and are all that Swagger UI may call', () => {
  const { servers, paths } = configured.document;
  const urls = ['https://api.example.com/v1', 'https://staging.example.com/v1'];
  expect(servers.map(({ url }: { url: string }) => url)).toEqual(urls);
  expect(paths['/messages'].post.servers[0].url).toBe('https://messages.example.com');
  expect(paths['/pets'].get.servers).toBeUndefined();
  expect(configured.policy.match(/connect-src ([^;]*)/)![1]).toBe(
    "'self' https://api.example.com https://staging.example.com https://messages.example.com",
  );
});

describe('The pages', () => {
  test.each(PAGES)('%s has these headers and no others', async (path) => {
    const answer = await fetchRaw(hosted, 'GET', path, { accept: 'text/html' });
    const own = (headers: IncomingHttpHeaders) =>
      Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_ITS_OWN.has(name)));
    expect([answer.status, own(answer.headers)]).toEqual([200, PAGE_HEADERS]);
    const head = await fetchRaw(hosted, 'HEAD', path, { accept: 'text/html' });
    expect([head.status, own(head.headers)]).toEqual([200, PAGE_HEADERS]);
    // Also where the browser has it already.
    const known = await fetchRaw(hosted, 'GET', path, { 'if-none-match': answer.headers.etag! });
    const { 'content-type': _type, ...others } = PAGE_HEADERS;
    expect([known.status, own(known.headers)]).toEqual([304, others]);
    // It runs and shows nothing but its own files.
    expect(answer.body.toString()).not.toMatch(
      /<style|style=|<script(?![^>]* src="(?:\.\.\/)*assets\/)|\son\w+=|<(?!a )[^>]*"https?:/,
    );
  });

  test('at /docs are Swagger UI, with the same headers and the hash of each style that stands in the page', async () => {
    const { status, headers, body } = await fetchRaw(hosted, 'GET', '/docs', { accept: 'text/html' });
    const { 'content-security-policy': _own, ...others } = PAGE_HEADERS;
    expect([status, headers]).toEqual([200, expect.objectContaining(others)]);
    const [, allowed] = /style-src 'self'( [^;]+)/.exec(headers['content-security-policy'] as string)!;
    expect(headers['content-security-policy']).toBe(policy(allowed));
    const page = body.toString();
    const styles = [...page.matchAll(/<style>(.*?)<\/style>|style="(.*?)"/gs)];
    expect(styles.length).toBeGreaterThan(0);
    for (const [, text, attribute] of styles) {
      const hash = createHash('sha256').update(text ?? attribute!);
      expect(allowed).toContain(`'sha256-${hash.digest('base64')}'`);
    }
    expect(page).not.toMatch(/<script(?![^>]* src=)|\son\w+=|<[^>]*(?:src|href)=["']https?:/);
    for (const [, to] of page.matchAll(/(?:src|href)=["']([^"']+)/g)) {
      const statusOf = async (method: string) =>
        (await call(hosted, method, `/${to!.replace('./', '')}`)).status;
      expect([to, await statusOf('GET'), await statusOf('POST')]).toEqual([to, 200, 405]);
    }
  });

  test('have files that a browser keeps for a year, under addresses that change with them, and no other site can load', async () => {
    const version = await versionOfAssets();
    const { text } = await call(hosted, 'GET', '/reference');
    const names = [...text.matchAll(/(?:src|href)="assets\/\w+\/([^"]+)"/g)].map(([, name]) => name!);
    expect(names.length).toBeGreaterThan(3);
    for (const name of new Set(names)) {
      const { headers } = await fetchRaw(hosted, 'GET', `/assets/${version}/${name}`, {});
      expect(headers).toMatchObject({
        'cache-control': 'public, max-age=31536000, immutable',
        'cross-origin-resource-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
      });
      const before = await call(hosted, 'GET', `/assets/0123456789abcdef/${name}`);
      expect([before.status, before.headers.get('cache-control')]).toEqual([200, 'no-cache']);
    }
    for (const name of ['page.html', '..%2fassets.js'])
      expectError(await call(hosted, 'GET', `/assets/x/${name}`), 404, 'route_not_found');
  });
});

test.each([
  ['GET', '/nowhere', '*/*'],
  ['GET', '/nowhere/at/all/', BROWSER],
  ['GET', '//nowhere', BROWSER],
  ['GET', '/guides/README', BROWSER],
  ['GET', '/docs/nothing', BROWSER],
  ['GET', '/docs/package.json', BROWSER],
  ['GET', '/docs/swagger-ui-bundle.js.map', BROWSER],
  ['GET', '/docs//', BROWSER],
  ['GET', '/docs/%69ndex.html', BROWSER],
  ['GET', '/messages/x/y', BROWSER],
  ['POST', '/nowhere', BROWSER],
  ['GET', '/v1/nowhere', BROWSER],
])('An unknown address is an Error, whatever the client accepts: %s %s, %s', async (method, path, Accept) => {
  const answer = await call(hosted, method, path, { headers: { Accept } });
  expectError(answer, 404, 'route_not_found');
  expect(answer.headers.get('link')).toBe(`<${hosted.url}/guides/errors#route_not_found>; rel="help"`);
});

describe('The files of the pages', () => {
  const DECODERS: Record<string, (bytes: Buffer) => Buffer> = {
    br: brotliDecompressSync,
    gzip: gunzipSync,
    identity: (bytes) => bytes,
  };

  test('are sent in the smallest coding that the client accepts', async () => {
    const asked = { 'gzip, deflate, br': 'br', 'gzip, br;q=0': 'gzip', deflate: 'identity', '': 'identity' };
    const own = `/assets/${await versionOfAssets()}/site.css`;
    for (const path of [own, '/reference']) {
      const seen = new Map<string, Raw>();
      for (const [accepted, coding] of Object.entries(asked)) {
        const answer = await fetchRaw(hosted, 'GET', path, { 'accept-encoding': accepted });
        expect([answer.status, answer.headers['content-encoding'] ?? 'identity']).toEqual([200, coding]);
        expect(answer.headers.vary).toBe('Accept-Encoding');
        seen.set(coding, answer);
      }
      const [br, gzip, identity] = ['br', 'gzip', 'identity'].map((coding) => seen.get(coding)!.body);
      expect(br!.length).toBeLessThan(gzip!.length);
      expect(gzip!.length).toBeLessThan(identity!.length);
      // Jest compares bytes one by one, which takes 15 s here.
      for (const [coding, { body }] of seen)
        expect([coding, DECODERS[coding]!(body).equals(identity!)]).toEqual([coding, true]);
    }
  });
});

interface Raw {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** As the bytes come over the wire, which `fetch` decodes, with headers that it does not let be set. */
function fetchRaw(
  service: TestedService,
  method: string,
  path: string,
  headers: Record<string, string>,
): Promise<Raw> {
  return new Promise((resolve, reject) => {
    request(service.url + path, { method, headers }, (response) => {
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

async function versionOfAssets(): Promise<string> {
  const { text } = await call(hosted, 'GET', '/reference');
  return /"assets\/([0-9a-f]+)\//.exec(text)![1]!;
}

describe('The demo key', () => {
  const printed = () => /Demo key +(\S+)/.exec(embedded.output())![1]!;

  test('works when pasted, and is printed once', async () => {
    expect((await call(embedded, 'GET', '/v1/pets', { key: printed() })).status).toBe(200);
    expect(embedded.output().split(printed())).toHaveLength(2);
  });

  test('is in no answer', async () => {
    const files = readdirSync(new URL('../src/platform/docs/site/assets', import.meta.url));
    const pages = ['/', '/docs', '/docs/swagger-ui-init.js', '/guides', '/reference'];
    const others = ['/openapi.json', '/openapi.yaml', '/metrics', '/v1/pets', '/v1/api-keys'];
    for (const path of [...pages, ...others, ...files.map((name) => `/assets/x/${name}`)]) {
      const { headers, text } = await call(embedded, 'GET', path, { key: printed() });
      expect(text + JSON.stringify([...headers])).not.toContain(printed());
    }
  });

  test('does not exist with an external database', () => {
    expect(hosted.output()).toMatch(/ Swagger UI +\S+\/docs\n/);
    expect(hosted.output()).not.toContain('Demo key');
  });
});

/** A block of code of a guide, as it is on the page. */
interface Sample {
  guide: string;
  name: string;
  text: string;
}

const pageOf = async (guide: string) => (await call(embedded, 'GET', `/guides/${guide}`)).text;

function asText(html: string): string {
  return html
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll('http://localhost:3000', embedded.url)
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');
}

/** The names of the guides, in the order of their list. */
async function guides(): Promise<string[]> {
  const { text } = await call(embedded, 'GET', '/guides');
  const listed = /<ul class="cards">.*?<\/ul>/s.exec(text)![0];
  return [...listed.matchAll(/href="guides\/([\w-]+)"/g)].map(([, name]) => name!);
}

describe('The guides', () => {
  let names: string[];
  beforeAll(async () => (names = await guides()));

  test('are listed, each with the way to the next', async () => {
    expect(names.length).toBeGreaterThanOrEqual(9);
    for (const [i, name] of names.slice(1).entries())
      expect(await pageOf(names[i]!)).toContain(`class="next" href="../guides/${name}"`);
  });

  test('have no broken link, parts of pages and operations included', async () => {
    const ids = new Set(operations.map(({ operation }) => `#/${operation.tags[0]}/${operation.operationId}`));
    const seen = new Map<string, string>();
    for (const page of ['/', '/guides', ...names.map((name) => `/guides/${name}`)]) {
      const { text } = await call(embedded, 'GET', page);
      for (const [, to] of text.matchAll(/(?:href|src)="([^"]+)"/g)) {
        const url = new URL(to!, embedded.url + page);
        if (url.origin !== embedded.url) continue;
        if (!seen.has(url.pathname)) seen.set(url.pathname, (await call(embedded, 'GET', url.pathname)).text);
        if (url.hash.startsWith('#/')) expect(ids).toContain(url.hash);
        else if (url.hash) expect(seen.get(url.pathname)).toContain(`id="${url.hash.slice(1)}"`);
      }
    }
    expect(seen.size).toBeGreaterThan(names.length + 5);
  });

  test('name every error code with its statuses, in their order, what it means and what to do', async () => {
    const page = await pageOf('errors');
    const rows = [...page.matchAll(/<tr>\s*<td[^>]*>\d{3}(?: or \d{3})?<\/td>.*?<\/tr>/gs)].map(([row]) =>
      [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell]) => asText(cell!)),
    );
    const { anyOf, description } = document.components.schemas.ErrorCode;
    const table = (description as string).matchAll(/^\| (\d{3}[^|]*) \| `(\w+)`/gm);
    const statuses = Object.fromEntries(Array.from(table, ([, status, code]) => [code, status]));
    const meanings = Object.entries(anyOf[0]['x-enumDescriptions']);
    expect(rows.map((row) => row.slice(0, 3))).toEqual(
      meanings.map(([code, meaning]) => [statuses[code], code, meaning]),
    );
    const order = rows.map(([status, code]) => `${status!.split(' ').at(-1)} ${code}`);
    expect(order).toEqual(order.toSorted());
    for (const [, code, , advice] of rows) {
      expect(advice!.length).toBeGreaterThan(10);
      expect(page).toContain(`id="${code}"`);
      // What may have been done is sent again only where that does no harm.
      if (['internal_error', 'service_unavailable'].includes(code!))
        expect(advice).toContain('Idempotency-Key');
    }
  });
});

describe('The samples of the guides', () => {
  /** What is run, with what the guide shows as its answer. */
  async function runnable() {
    const samples = (await Promise.all((await guides()).map(samplesOf))).flat();
    return samples.flatMap(({ name, ...sample }, i) => {
      if (name !== 'Shell' && name !== 'JavaScript') return [];
      const next = samples[i + 1];
      const isAnswer = next?.guide === sample.guide && ['Answer', 'HTTP', 'Text'].includes(next.name);
      return [{ ...sample, name, answer: isAnswer ? next : undefined }];
    });
  }

  async function samplesOf(guide: string): Promise<Sample[]> {
    const blocks = (await pageOf(guide)).matchAll(
      /<figcaption class="row">(.*?)(?: <button.*?)?<\/figcaption><pre[^>]*><code>(.*?)<\/code>/gs,
    );
    return [...blocks].map(([, name, code]) => ({ guide, name: name!, text: asText(code!) }));
  }

  test('answer what the guides say, all of them in one shell', async () => {
    const all = await runnable();
    const lines = await Promise.all(
      all.map(async ({ name, text }, i) => {
        if (name === 'Shell') return `printf '\\n@@\\n'\n${text}`;
        // As TypeScript, which each of them is too.
        const file = join(folder, `${i}.mts`);
        await writeFile(file, text);
        return `printf '\\n@@\\n'\nAPI_KEY=$API_KEY '${process.execPath}' '${file}'\n`;
      }),
    );
    const env = { PATH: process.env.PATH };
    const { stdout } = await run('bash', ['--norc', '-euc', lines.join('\n')], { env });
    const told = stdout.split('\n@@\n').slice(1);
    expect(told).toHaveLength(all.length);
    for (const [i, { guide, text, answer }] of all.entries())
      if (answer) expectSame({ guide, text }, told[i]!.trim(), answer);
    expect(all.filter(({ answer }) => answer).length).toBeGreaterThanOrEqual(14);
  });

  /** The answer has the status, the headers and the fields that the guide shows; of an Error, also its code. */
  function expectSame(where: object, told: string, { name, text }: Sample): void {
    const shown = text.trim();
    if (name !== 'HTTP') {
      const read = (answer: string) => (name === 'Text' ? answer : shapeOf(JSON.parse(answer)));
      return expect({ ...where, told: read(told) }).toEqual({ ...where, told: read(shown) });
    }
    const [head, body] = told.replaceAll('\r', '').split('\n\n');
    const [shownHead, shownBody] = shown.split('\n\n');
    for (const line of shownHead!.split('\n')) {
      const pattern = line.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '.+');
      expect(head).toMatch(new RegExp(`^${pattern}$`, 'im'));
    }
    if (shownBody) expectSame(where, body!, { guide: '', name: 'Answer', text: shownBody });
  }

  function shapeOf(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(shapeOf);
    if (typeof value !== 'object' || value === null) return typeof value;
    const isError = 'code' in value && 'status' in value;
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, isError && name !== 'message' ? one : shapeOf(one)]),
    );
  }
});

test('The retry of the guide on errors sends a write again only under an Idempotency-Key', async () => {
  const guide = readFileSync(new URL('../docs/guides/errors.md', import.meta.url), 'utf8');
  const [, source] = /(async function send\(.*?\n\}\n)/s.exec(guide)!;
  const program = `${source}
    const tries = {};
    globalThis.setTimeout = (resolve) => queueMicrotask(resolve);
    globalThis.fetch = async (url) => {
      tries[url] = (tries[url] ?? 0) + 1;
      if (url.includes('lost')) throw new TypeError('fetch failed');
      return new Response('{}', { status: Number(url.slice(-3)) });
    };
    const key = { 'Idempotency-Key': 'one' };
    const ask = { GET: {}, POST: { method: 'POST' }, keyed: { method: 'POST', headers: key }, PATCH: { method: 'PATCH' } };
    for (const [name, options] of Object.entries(ask))
      for (const what of ['lost', 408, 429, 500, 503, 400])
        await send(name + ' ' + what, options).catch(() => undefined);
    console.log(JSON.stringify(tries));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program]);
  const again = { lost: 5, 408: 5, 429: 5, 500: 5, 503: 5, 400: 1 };
  // 429 alone says that nothing was done.
  const once = { lost: 1, 408: 1, 429: 5, 500: 1, 503: 1, 400: 1 };
  const expected = { GET: again, POST: once, keyed: again, PATCH: once };
  const all = Object.entries(expected).flatMap(([name, counts]) =>
    Object.entries(counts).map(([what, count]) => [`${name} ${what}`, count]),
  );
  expect(JSON.parse(stdout)).toEqual(Object.fromEntries(all));
});

// After the guides, whose lists have nothing but what they add.
test('The start page shows commands that work when pasted, and are those of the README', async () => {
  const { text } = await call(hosted, 'GET', '/');
  const [, code] = /<pre[^>]*><code>(.*?)<\/code>/s.exec(text)!;
  const commands = asText(code!).replaceAll(embedded.url, 'http://localhost:3000');
  const spread = (lines: string) =>
    lines
      .replaceAll(/\\\n\s*/g, '')
      .replaceAll(/ +/g, ' ')
      .trim();
  expect(spread(readFileSync(new URL('../README.md', import.meta.url), 'utf8'))).toContain(spread(commands));
  const here = commands.replace('http://localhost:3000', embedded.url);
  const { stdout } = await run('bash', ['--norc', '-c', here], { env: { PATH: process.env.PATH } });
  const [account, added, list] = Array.from(stdout.matchAll(/.+/g), ([line]) => JSON.parse(line));
  expect(account).toMatchObject({ email: 'grace@example.com' });
  expect(added).toMatchObject({ name: 'Luna' });
  expect(list).toContainEqual(added);
});

/** The receiver that the guide on messages shows, in a process of its own. */
async function startReceiver() {
  const guide = readFileSync(new URL('../docs/guides/messages.md', import.meta.url), 'utf8');
  const file = join(folder, 'receiver.mjs');
  await writeFile(file, /```js title="receiver\.mjs"\n(.*?)```/s.exec(guide)![1]!);
  const env = { PATH: process.env.PATH, PORT: '0', MESSAGES_WEBHOOK_SECRET: SECRET };
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await eventually(() => output.includes('\n'));
  const address = `http://127.0.0.1:${/Listening on (\d+)/.exec(output)![1]}/hook`;
  return { address, output: () => output, stop: () => child.kill() };
}

describe('The receiver of the guide on messages', () => {
  test('accepts what the service delivers', () => {
    expect(receiver.output()).toContain(`Received ${configured.messageId}: Grüße, 🐈!\n`);
  });

  test('refuses a message with a wrong or old signature, and counts a repeated message once', async () => {
    const now = new Date();
    const text = JSON.stringify({ id: 'one', message: 'Hello', createdAt: now.toISOString() });
    const deliver = async (at: Date, by = SECRET, body = text) => {
      const headers = {
        'webhook-id': 'one',
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': by && new Webhook(by).sign('one', at, text),
      };
      return (await fetch(receiver.address, { method: 'POST', body, headers: by ? headers : {} })).status;
    };
    const other = `whsec_${Buffer.alloc(24, 'other').toString('base64')}`;
    expect(await deliver(now, other)).toBe(401);
    expect(await deliver(now, '')).toBe(401);
    expect(await deliver(now, SECRET, text.replace('Hello', 'Bye'))).toBe(401);
    expect(await deliver(new Date(now.getTime() - 600_000))).toBe(401);
    expect(receiver.output()).not.toContain('Received one');
    expect([await deliver(now), await deliver(now)]).toEqual([204, 204]);
    await eventually(() => receiver.output().includes('Received one: Hello\n'));
    expect(receiver.output().split('Received one')).toHaveLength(2);
  });
});
