import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { load } from 'js-yaml';
import { Config } from '../src/config.js';
import { codeSamples } from '../src/platform/docs/openapi/call-samples.js';
import { type Answer, call, send } from '../src/testing/client.js';
import { document, operations } from '../src/testing/document.js';
import { sharedService, startService } from '../src/testing/service.js';
import { newFolder, removeFolders, runNode } from './support/npm.js';
import { runSamples } from './support/samples.js';

const inRepository = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const committed = readFileSync(inRepository('openapi.json'), 'utf8');

const service = sharedService();
afterAll(removeFolders);

const operation = (id: string) =>
  operations.find(({ operation: { operationId } }) => operationId === id)!.operation;

describe('The OpenAPI document', () => {
  test('is committed as it is served: `npm run openapi` rewrites it', async () => {
    const { text } = await call(service, 'GET', '/openapi.json');
    const served = JSON.parse(text.replaceAll(service.url, 'http://127.0.0.1:3000'));
    // Relative in the repository, so that a client of the file chooses the origin.
    for (const one of served.servers) one.url = new URL(one.url).pathname;
    expect(served).toEqual(JSON.parse(committed));
    const yaml = await call(service, 'GET', '/openapi.yaml');
    expect([yaml.status, yaml.headers.get('content-type')]).toEqual([200, 'text/yaml; charset=utf-8']);
    expect(load(yaml.text)).toEqual(JSON.parse(text));
  });

  test('is written by its program alone, without a database, a port or a process left running', async () => {
    const cwd = newFolder();
    // Whatever connects or listens fails.
    const nothing = `data:text/javascript,import{Socket,Server}from'node:net';Socket.prototype.connect=Server.prototype.listen=()=>{throw(Error('net'))}`;
    const program = inRepository('dist/src/commands/petstore.js');
    const ended = await runNode([`--import=${nothing}`, program, 'openapi'], { cwd });
    expect(ended).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(readFileSync(join(cwd, 'openapi.json'), 'utf8')).toBe(committed);
  });

  test('is of version 3.1, describes version 1.0.0, and names production and staging under /v1', () => {
    expect([document.openapi, document.info.version]).toEqual(['3.1.0', '1.0.0']);
    expect(document.servers).toEqual([
      { url: '/v1', description: expect.stringMatching(/production/i) },
      { url: '/v1', description: expect.stringMatching(/staging/i) },
    ]);
  });

  test('marks getPet as deprecated with the day of its removal', () => {
    expect(operation('getPet')).toMatchObject({ deprecated: true, 'x-deprecated-sunset': '2030-12-05' });
    expect(operation('listPets').deprecated).toBeUndefined();
  });

  test('marks what is not stable: categories experimental, orders and messages beta', () => {
    const marksOf = (tag: string) =>
      operations.filter((one) => one.operation.tags.includes(tag)).map((one) => one.operation['x-stability']);
    const marks = { pets: undefined, categories: 'experimental', store: 'beta', messages: 'beta' };
    for (const [tag, mark] of Object.entries(marks))
      expect([tag, ...new Set(marksOf(tag))]).toEqual([tag, mark]);
  });

  // Its operations and their credentials are in the document of 1.0.0, with which versioning.test.ts compares.
  test('has the schemas and the scheme of the specification', () => {
    const { bearerAuth } = document.components.securitySchemes;
    expect(bearerAuth).toMatchObject({ type: 'http', scheme: 'bearer' });
    const { NewPet, Pet, Pets, PetStatus, Error: error } = document.components.schemas;
    const int64 = expect.objectContaining({ type: 'integer', format: 'int64' });
    expect(NewPet.required).toEqual(['name', 'categoryId']);
    expect(Object.keys(NewPet.properties)).toEqual(['name', 'categoryId', 'status']);
    expect(Pet.required).toEqual(['id', 'name', 'categoryId']);
    expect([NewPet.properties.categoryId, Pet.properties.id]).toEqual([int64, int64]);
    expect(Pets).toMatchObject({ type: 'array', items: { $ref: '#/components/schemas/Pet' } });
    expect(PetStatus.enum).toEqual(['available', 'pending', 'sold']);
    for (const names of [error.required, Object.keys(error.properties)])
      expect(names).toEqual(['code', 'message', 'status']);
  });

  test.each(["$'".repeat(4_500), 'shop.example:81', "a!b(c)*;=,~$&$$'x'"])(
    'names the host %s as it was asked for in every server, those of messages too, in a text of the usual length',
    async (host) => {
      const path = '/openapi.json';
      const head = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAccept-Encoding: \r\n\r\n`;
      const usual = await call(service, 'GET', path);
      const { text } = await send(service, head, { path });
      const places = usual.text.split(new URL(service.url).host).length;
      expect(text.length).toBeLessThan(usual.text.length + places * host.length);
      const { info, servers, paths }: typeof document = JSON.parse(text);
      expect(info).toMatchObject({ contact: { url: `http://${host}` } });
      const url = `http://${host}/v1`;
      expect(servers).toMatchObject([{ url }, { url }]);
      // So that tools which import the document call it.
      for (const method of [paths['/messages']!.post!, paths['/messages/{messageId}']!.get!])
        expect(method).toMatchObject({ servers: [{ url }] });
      expect(text).not.toContain('here.invalid');
    },
  );

  test('has an ETag of its own under each host name, which answers 304', async () => {
    const ask = (host: string, more = '') =>
      send(service, `GET /openapi.json HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`, { path: '/openapi.json' });
    const tagOf = ({ headers }: Answer) => headers.get('etag')!;
    const one = await ask('one.example');
    expect(tagOf(await ask('other.example'))).not.toBe(tagOf(one));
    const known = `If-None-Match: ${tagOf(one)}\r\n`;
    expect(await ask('one.example', known)).toMatchObject({ status: 304, text: '' });
    expect((await ask('other.example', known)).status).toBe(200);
  });

  test('states the default of every optional field of a request', () => {
    const { ApiKeyRoll, AccountChange } = document.components.schemas;
    expect(ApiKeyRoll.properties.overlapSeconds).toMatchObject({ default: 0 });
    expect(AccountChange.properties.revokeKeys).toMatchObject({ default: false });
    const order = operation('listPets').parameters!.find(({ name }) => name === 'order');
    expect(order).toMatchObject({ schema: { default: 'asc' } });
  });

  test('links every creation to the operations on the new id', () => {
    const linksOf = (id: string, status: string) =>
      Object.keys((operation(id).responses[status] as { links?: object }).links ?? {});
    expect(linksOf('createPet', '201')).toEqual(['getPet']);
    expect(linksOf('placeOrder', '201')).toEqual(['getOrder', 'updateOrder']);
    expect(linksOf('submitMessage', '202')).toEqual(['getMessage']);
    expect(operation('createPet').responses[201]).toMatchObject({
      links: { getPet: { operationId: 'getPet', parameters: { petId: '$response.body#/id' } } },
    });
  });

  test('describes the requests that a receiver of messages gets', () => {
    const { webhooks } = document as unknown as { webhooks: Record<string, { post: object }> };
    expect(webhooks.deliverMessage!.post).toMatchObject({
      // openapi-generator writes a file for each tag, which would replace that of the operations.
      'x-internal': true,
      requestBody: {
        content: { 'application/json': { schema: document.components.schemas.DeliveredMessage } },
      },
      parameters: ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
        expect.objectContaining({ name, in: 'header', required: true }),
      ),
    });
    const { properties } = document.components.schemas.DeliveredMessage;
    expect(Object.keys(properties)).toEqual(['id', 'message', 'createdAt']);
  });

  // oapi-codegen prunes the other schemas, and its code still names them.
  test('refers in webhooks only to schemas that operations have', () => {
    const { webhooks, paths } = document as unknown as { webhooks: object; paths: object };
    const namesIn = (part: object, found = new Set<string>()): Set<string> => {
      const all = JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g);
      for (const [, name] of all)
        if (!found.has(name!)) namesIn(document.components.schemas[name!], found.add(name!));
      return found;
    };
    expect(namesIn(webhooks).difference(namesIn(paths))).toEqual(new Set());
  });

  test('leaves the set of error codes open, and describes every value of every enumeration', () => {
    const [known, others] = document.components.schemas.ErrorCode.anyOf;
    expect(known.enum).toContain('pet_not_available');
    expect(others).toEqual({ type: 'string' });
    const schemas = Object.values<{ enum?: string[]; 'x-enumDescriptions'?: object }>(
      document.components.schemas,
    );
    const enums = [known, ...schemas.filter((schema) => schema.enum)];
    expect(enums.length).toBeGreaterThanOrEqual(4);
    for (const one of enums) expect(Object.keys(one['x-enumDescriptions'])).toEqual(one.enum);
  });

  test('describes every operation, and not only by its permission', () => {
    const operations = Object.values<Record<string, { description?: string }>>(document.paths).flatMap(
      (item) => Object.values(item).map(({ description }) => description ?? ''),
    );
    const words = operations.map((text) => text.replaceAll(/Needs the permissions? [^.]*\./g, '').trim());
    expect(words.filter((text) => text.length < 20)).toEqual([]);
  });

  // Searched by JavaScript and Go, matched from the start by Python, matched whole by Java; `\s`, `\d`, `\w` and `\b` are
  // another set in each, and Go knows neither `\u` nor a look-around.
  test('has patterns that mean the same in JavaScript, Python, Java and Go', () => {
    const patterns = [...JSON.stringify(document).matchAll(/"pattern":("(?:\\.|[^"])*")/g)].map(
      ([, json]) => JSON.parse(json!) as string,
    );
    expect(patterns.length).toBeGreaterThan(10);
    const portable = /^\^(?!.*\\[sSdDwWbBuk])(?!.*\(\?[=!<]).*\$$/su;
    expect(patterns.filter((pattern) => !portable.test(pattern))).toEqual([]);
  });

  // Go compiles no file with a byte order mark, Rust none with a mark of direction, and TypeScript ends a line at U+2028.
  test('takes for blank what JavaScript trims, and says so without a character that a language refuses', () => {
    expect(JSON.stringify(document)).not.toMatch(/[\ufeff\u2028-\u202e\u2066-\u2069]|(?! )\p{Cc}/u);
    const { pattern } = document.components.schemas.NewPet.properties.name;
    for (const form of [new RegExp(pattern), new RegExp(pattern, 'u')]) {
      const all = Array.from({ length: 0xffff }, (_, i) => String.fromCharCode(i + 1));
      const wrong = all.filter((one) => one.isWellFormed() && form.test(one) === (one.trim() === ''));
      // Marks of direction, which the service takes.
      expect(wrong).toEqual(['\u202a', '\u202b', '\u202c', '\u202d', '\u202e']);
    }
  });
});

describe('The code samples', () => {
  test('in curl succeed as they stand, one after another, on a new service', async () => {
    const fresh = await startService();
    await runSamples(fresh, 'curl');
    await fresh.stop();
  });

  /** What a sample of each language sends, told by what stands in for its HTTP client, as its address and its JSON. */
  const TOLD: Record<string, (source: string) => string> = {
    curl: (source) => {
      const stub = `curl() { printf '%s\\0' "$@"; }; API_KEY=x; ${source}`;
      const printed = execFileSync('bash', ['--norc', '-c', stub], { encoding: 'utf8' });
      const args = printed.split('\0').slice(0, -1);
      return `${args.find((one) => one.startsWith('http'))}\n${args.at(-1)}`;
    },
    TypeScript: (source) => {
      const fetch = `globalThis.fetch = (url, { body }) => (process.stdout.write(url + '\\n' + body), process.exit());`;
      const args = ['--input-type=module-typescript', '-e', `${fetch}\n${source}`];
      return execFileSync(process.execPath, args, { encoding: 'utf8' });
    },
  };

  const HARD_TO_QUOTE = {
    name: "O'Brien",
    path: 'C:\\new\\table\\',
    quoted: '"\'`$HOME` !#\n\t\u2028 ${x} %s \u{1f600}',
    numbers: [0, -1.5, 1e21, 9007199254740991],
    "it's": { empty: {}, none: [], deep: [[true, false, null, { 'a b': "''" }]] },
  };

  test.each(Object.entries(TOLD))(
    'in %s send any example exactly, and the parameters that a query must have, and no others',
    (label, toldBy) => {
      const needed = { in: 'query' as const, required: true };
      const operation = {
        responses: {},
        requestBody: { content: { 'application/json': { example: HARD_TO_QUOTE, schema: {} } } },
        parameters: [
          { ...needed, name: 'thingId', in: 'path' as const, schema: { type: 'integer', example: 7 } },
          { ...needed, name: 'words', schema: { type: 'string', example: "O'Brien & Söhne" } },
          { ...needed, name: 'size', schema: { $ref: '#/components/schemas/Size' } },
          { ...needed, name: 'ids', schema: { type: 'array', items: { type: 'integer' }, example: [1, 2] } },
          { ...needed, name: 'limit', required: false, schema: { type: 'integer', example: 20 } },
        ],
      };
      const one = { path: '/things/{thingId}/parts', method: 'post', operation } as const;
      const schemas = { Size: { type: 'string', enum: ['small', 'large'] } };
      const samples = codeSamples(one, 'bearer', { components: { schemas } } as never, new Config());
      const { source } = samples!.find((one) => one.label === label)!;
      const [, address, json] = /(.*)\n(.*)/s.exec(toldBy(source).trim())!;
      expect(JSON.parse(json!)).toEqual(HARD_TO_QUOTE);
      const { pathname, searchParams } = new URL(address!);
      expect(pathname).toBe('/v1/things/7/parts');
      const sent = { words: "O'Brien & Söhne", size: 'small', ids: '1,2' };
      expect(Object.fromEntries(searchParams)).toEqual(sent);
    },
  );
});
