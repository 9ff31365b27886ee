import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { Config } from '../src/config.js';
import { samplesOf as callSamples } from '../src/platform/docs/openapi/call-samples.js';
import { codeSamples } from '../src/platform/docs/openapi/operations.js';
import { createKey } from '../src/testing/client.js';
import { exampleOf, inWorkingOrder, operations, type Placed, statusesOf } from '../src/testing/document.js';
import { Examples } from '../src/testing/examples.js';
import { loadFacts } from '../src/testing/facts.js';
import { hasPython, hasRequests, LANGUAGES } from './support/languages.js';
import { type Service, startService } from '../src/testing/service.js';

const run = promisify(execFile);

const ORDER = inWorkingOrder(operations);

if (!hasRequests) console.warn('No python3 with requests found, so the code samples in Python are not run.');

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'petstore-samples-'));
  // The samples run as they are; only curl is told to print the status too.
  await writeFile(join(folder, '.curlrc'), 'silent\nwrite-out = "\\n%{http_code}"\n');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('The code samples', () => {
  test('exist for every operation, in each language', () => {
    for (const one of ORDER) expect(samplesOf(one).map(({ label }) => label)).toEqual(Object.keys(LANGUAGES));
  });

  test.concurrent.each(Object.keys(LANGUAGES).filter((label) => label !== 'Python' || hasRequests))(
    'in %s succeed as they stand, one after another, on a new service',
    async (label) => {
      const service = await startService();
      try {
        await runAll(service, label);
      } finally {
        await service.stop();
      }
    },
    180_000,
  );
});

/** What a sample of each language sends, told by what stands in for its HTTP client, as JSON. */
const SENT: Record<string, (source: string) => string> = {
  curl: (source) =>
    execFileSync('bash', ['-c', `curl() { printf '%s' "\${!#}"; }; API_KEY=x; ${source}`], {
      encoding: 'utf8',
    }),
  TypeScript: (source) => {
    const fetch = `globalThis.fetch = (_url, { body }) => (process.stdout.write(body), process.exit());`;
    const args = ['--input-type=module-typescript', '-e', `${fetch}\n${source}`];
    return execFileSync(process.execPath, args, { encoding: 'utf8' });
  },
  Python: (source) => {
    const requests = `import json, os, sys, types
os.environ["API_KEY"] = "x"
def post(url, headers, json): print(sys.modules["json"].dumps(json)); sys.exit()
sys.modules["requests"] = types.SimpleNamespace(post=post)`;
    return execFileSync('python3', ['-c', `${requests}\n${source}`], { encoding: 'utf8' });
  },
};

const HARD_TO_QUOTE = {
  yes: true,
  no: false,
  nothing: null,
  name: "O'Brien",
  path: 'C:\\new\\table\\',
  quoted: '"\'`$HOME` !#\n\t\u2028 ${x} %s \u{1f600}',
  numbers: [0, -1.5, 1e21, 9007199254740991],
  "it's": { empty: {}, none: [], deep: [[true, null, { 'a b': "''" }]] },
};

test.each(Object.entries(SENT).filter(([label]) => label !== 'Python' || hasPython))(
  'The code samples in %s send any example exactly',
  (label, sentBy) => {
    const content = { 'application/json': { example: HARD_TO_QUOTE, schema: {} } };
    const operation = { responses: {}, requestBody: { content } };
    const samples = codeSamples(
      { path: '/things', method: 'post', operation },
      'bearer',
      { components: {} } as never,
      new Config(),
    );
    const { source } = samples.find((one) => one.label === label)!;
    expect(JSON.parse(sentBy(source))).toEqual(HARD_TO_QUOTE);
  },
);

/** The address that a sample of each language asks, told by what stands in for its HTTP client. */
const ASKED: Record<string, (source: string) => string> = {
  curl: (source) =>
    execFileSync('bash', ['-c', `curl() { printf '%s' "$1"; }; API_KEY=x; ${source}`], { encoding: 'utf8' }),
  TypeScript: (source) => {
    const fetch = 'globalThis.fetch = (url) => (process.stdout.write(url), process.exit());';
    const args = ['--input-type=module-typescript', '-e', `${fetch}\n${source}`];
    return execFileSync(process.execPath, args, { encoding: 'utf8' });
  },
  Python: (source) => {
    const requests = `import os, sys, types
os.environ["API_KEY"] = "x"
def get(url, headers): print(url, end=""); sys.exit()
sys.modules["requests"] = types.SimpleNamespace(get=get)`;
    return execFileSync('python3', ['-c', `${requests}\n${source}`], { encoding: 'utf8' });
  },
};

test.each(Object.entries(ASKED).filter(([label]) => label !== 'Python' || hasPython))(
  'The code samples in %s ask for the parameters that a query must have, and for no others',
  (label, askedBy) => {
    const query = (name: string, schema: object, required = true) => ({
      name,
      in: 'query' as const,
      required,
      schema,
    });
    const operation = {
      responses: {},
      parameters: [
        { name: 'thingId', in: 'path' as const, required: true, schema: { type: 'integer', example: 7 } },
        query('words', { type: 'string', example: "O'Brien & Söhne" }),
        query('size', { $ref: '#/components/schemas/Size' }),
        query('ids', { type: 'array', items: { type: 'integer' }, example: [1, 2] }),
        query('limit', { type: 'integer', example: 20 }, false),
      ],
    };
    const samples = codeSamples(
      { path: '/things/{thingId}/parts', method: 'get', operation },
      'bearer',
      { components: { schemas: { Size: { type: 'string', enum: ['small', 'large'] } } } } as never,
      new Config(),
    );
    const { source } = samples.find((one) => one.label === label)!;
    const { pathname, searchParams } = new URL(askedBy(source));
    expect(pathname).toBe('/v1/things/7/parts');
    expect([...searchParams]).toEqual([
      ['words', "O'Brien & Söhne"],
      ['size', 'small'],
      ['ids', '1,2'],
    ]);
  },
);

test.each(Object.keys(LANGUAGES).filter((label) => label !== 'Python' || hasRequests))(
  'The code samples in %s send files of their reader, by their names, alone and in a form',
  async (label) => {
    const sent: { type?: string; body: string }[] = [];
    const receiver = createServer((request, response) => {
      const answer = async () => {
        sent.push({ type: request.headers['content-type'], body: await text(request) });
        response.setHeader('Content-Type', 'application/json').end('{}');
      };
      void answer();
    });
    await once(receiver.listen(0, '127.0.0.1'), 'listening');
    const { port } = receiver.address() as AddressInfo;
    await writeFile(join(folder, "Luna's.csv"), 'id,name\n1,Luna\n');
    const file = { type: 'text/csv', file: "Luna's.csv" };
    const call = { method: 'POST', url: `http://127.0.0.1:${port}/`, access: 'public' } as const;
    const form = [
      { name: 'rows', ...file },
      { name: 'caption', text: 'Dogs' },
    ];
    for (const what of [{ content: file }, { form }]) {
      const { source } = callSamples({ ...call, ...what }).find((one) => one.label === label)!;
      await run(...LANGUAGES[label]!(source), { cwd: folder });
    }
    receiver.close();
    expect(sent[0]).toEqual({ type: 'text/csv', body: 'id,name\n1,Luna\n' });
    expect(sent[1]!.type).toMatch(/^multipart\/form-data/);
    for (const part of [/name="rows"; filename="Luna's.csv"/, /text\/csv/, /1,Luna/, /name="caption"\s+Dogs/])
      expect(sent[1]!.body).toMatch(part);
  },
);

/** Runs each sample of a language in its own process, with what earlier ones have returned. */
async function runAll(service: Service, label: string): Promise<void> {
  const signUp = operations.find(({ operation }) => operation.operationId === 'createAccount')!;
  const { email, password } = exampleOf(signUp) as { email: string; password: string };
  const env: Record<string, string> = { EMAIL: email, PASSWORD: password, API_KEY: '', CURL_HOME: folder };
  const examples = await Examples.of(service, await loadFacts());
  for (const one of ORDER) {
    const { source } = samplesOf(one).find((sample) => sample.label === label)!;
    expect(source).toMatch(/http:\/\/localhost:3000\/v\d+\//);
    const here = examples.sourceFor(one, source.replaceAll('http://localhost:3000', service.url));
    const [command, args] = LANGUAGES[label]!(here);
    const options = { cwd: folder, env: { PATH: process.env.PATH, ...env } };
    const { operationId } = one.operation;
    if (isEndless(one)) {
      await expect(run(command, args, { ...options, timeout: 3_000 })).rejects.toMatchObject({
        killed: true,
        stdout: expect.not.stringContaining('"code"'),
      });
      continue;
    }
    const { stdout } = await run(command, args, options);
    const status = label === 'curl' ? stdout.split('\n').at(-1) : stdout.trim().split(/\s/)[0];
    expect(statusesOf(one).map((success) => `${operationId} ${success}`)).toContain(
      `${operationId} ${status}`,
    );
    // One key revokes itself, and another is revoked by its id, which is 1 in the example.
    if (operationId === 'createAccount') await createKey(service, { email, password });
    env.API_KEY ||= /petstore_\w+/.exec(stdout)?.[0] ?? '';
    examples.learn(one, stdout);
  }
}

/** Whether an answer goes on until its client has heard enough. */
function isEndless({ operation }: Placed): boolean {
  return Object.values(operation.responses).some(({ content = {} }) => 'text/event-stream' in content);
}

function samplesOf({ operation }: Placed): { label: string; source: string }[] {
  return operation['x-codeSamples'] as { label: string; source: string }[];
}
