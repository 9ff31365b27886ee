import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import MiniSearch from 'minisearch';
import { Webhook } from 'standardwebhooks';
import { call, createKey } from '../src/testing/client.js';
import { document, operations } from '../src/testing/document.js';
import { eventually } from './support/npm.js';
import { type Service, startService } from '../src/testing/service.js';

const run = promisify(execFile);
/** Every code, with its meaning. */
const CODES: Record<string, string> = document.components.schemas.ErrorCode.anyOf[0]['x-enumDescriptions'];

/** A block of code of a guide, as it is on the page and under what heading. */
interface Sample {
  guide: string;
  name: string;
  text: string;
}

interface Named {
  name: string;
}

let folder: string;
let service: Service;
let names: string[];
let samples: Sample[];

beforeAll(async () => {
  [folder, service] = await Promise.all([mkdtemp(join(tmpdir(), 'petstore-guides-')), startService()]);
  const { text } = await call(service, 'GET', '/guides');
  const listed = /<ul class="cards">.*?<\/ul>/s.exec(text)![0];
  names = [...listed.matchAll(/href="guides\/([\w-]+)"/g)].map(([, name]) => name!);
  samples = (await Promise.all(names.map(samplesOf))).flat();
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

async function pageOf(name: string): Promise<string> {
  return (await call(service, 'GET', `/guides/${name}`)).text;
}

async function samplesOf(guide: string): Promise<Sample[]> {
  const blocks = (await pageOf(guide)).matchAll(
    /<figcaption class="row">(.*?)(?: <button.*?)?<\/figcaption><pre[^>]*><code>(.*?)<\/code>/gs,
  );
  return [...blocks].map(([, name, code]) => ({ guide, name: name!, text: asText(code!) }));
}

function asText(html: string): string {
  const plain = html.replaceAll(/<[^>]+>/g, '').replaceAll('http://localhost:3000', service.url);
  return plain
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');
}

describe('The guides', () => {
  test('are listed in the order in which one reads them, each with the way to the next', async () => {
    expect(names[0]).toBe('first-steps');
    expect(names.length).toBeGreaterThanOrEqual(9);
    for (const [i, name] of names.slice(1).entries())
      expect(await pageOf(names[i]!)).toContain(`class="next" href="../guides/${name}"`);
  });

  test('can be read in a few minutes each', async () => {
    for (const name of names) {
      const article = /<article>(.*)<\/article>/s.exec(await pageOf(name))![1]!;
      const words = asText(article.replaceAll(/<(figure|table).*?<\/\1>/gs, '')).split(/\s+/).length;
      expect(`${name} ${words > 60 && words < 600}`).toBe(`${name} true`);
    }
  });

  test('link to nothing that is not there, parts of pages and operations included', async () => {
    const ids = new Set(operations.map(({ operation }) => `#/${operation.tags[0]}/${operation.operationId}`));
    const seen = new Map<string, string>();
    for (const page of ['/guides', ...names.map((name) => `/guides/${name}`)]) {
      const { text } = await call(service, 'GET', page);
      for (const [, to] of text.matchAll(/(?:href|src)="([^"]+)"/g)) {
        const url = new URL(to!, service.url + page);
        if (url.origin !== service.url) continue;
        if (!seen.has(url.pathname)) seen.set(url.pathname, (await call(service, 'GET', url.pathname)).text);
        if (url.hash.startsWith('#/')) expect(ids).toContain(url.hash);
        else if (url.hash) expect(seen.get(url.pathname)).toContain(`id="${url.hash.slice(1)}"`);
      }
    }
    expect(seen.size).toBeGreaterThan(names.length + 5);
  });

  test('name every error code, with what to do', async () => {
    const page = await pageOf('errors');
    const rows = [...page.matchAll(/<tr>\s*<td[^>]*>\d{3}(?: or \d{3})?<\/td>.*?<\/tr>/gs)].map(([row]) =>
      [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell]) => asText(cell!)),
    );
    expect(rows.map(([, code, meaning]) => [code, meaning])).toEqual(Object.entries(CODES));
    expect(rows.map(([, , , advice]) => advice!.length).filter((length) => length < 10)).toEqual([]);
    const advice = new Map(rows.map(([, code, , text]) => [code, text]));
    // Of the platform, of a feature, and of no more than their status.
    expect(advice.get('payload_too_large')).toBe('Send less at once.');
    expect(advice.get('category_not_found')).toBe(
      'Choose one of GET /categories. Where a new animal names one that is missing, the answer is 400.',
    );
    for (const code of ['pet_not_found', 'route_not_found', 'order_not_found'])
      expect(advice.get(code)!.startsWith('Check the id.')).toBe(code !== 'route_not_found');
  });

  test('name the limits that the document has', async () => {
    const page = await pageOf('limits');
    const rows = [...page.matchAll(/<tr>\s*<td[^>]*>(.*?)<\/td>\s*<td[^>]*>(.*?)<\/td>/gs)];
    const said = Object.fromEntries(rows.map(([, what, limit]) => [asText(what!), asText(limit!)]));
    const { NewPet, Category, NewMessage } = document.components.schemas;
    const { name } = NewPet.properties;
    const [limit, ids] = ['limit', 'ids'].map(
      (one) =>
        document.paths['/pets'].get.parameters.find((parameter: Named) => parameter.name === one).schema,
    );
    const of = ({ minLength, maxLength }: { minLength: number; maxLength: number }) =>
      `${minLength} to ${maxLength.toLocaleString('en')} characters`;
    expect(said).toMatchObject({
      'items on a page': `${limit.minimum} to ${limit.maximum}, ${limit.default} without limit`,
      'names of animals and categories': of(name),
      'text of a message': of(NewMessage.properties.message),
    });
    expect(of(Category.properties.name)).toBe(of(name));
    expect(page).toContain(`ask for pages of ${limit.maximum} where`);
    expect(page).toContain(`fetches up to ${ids.maxItems} animals at once`);
  });

  test('name the statuses of each error code as the document has them', async () => {
    const page = await pageOf('errors');
    const said = [...page.matchAll(/<td[^>]*>(\d{3}(?: or \d{3})?)<\/td>\s*<td[^>]*><span id="(\w+)"/g)];
    const table: string = document.components.schemas.ErrorCode.description;
    const documented = table.matchAll(/^\| (\d{3}[^|]*) \| `(\w+)`/gm);
    expect(said.map(([, statuses, code]) => [code, statuses])).toEqual(
      Array.from(documented, ([, statuses, code]) => [code, statuses]),
    );
    expect(said.find(([, , code]) => code === 'category_not_found')![1]).toBe('400 or 404');
  });

  test('name the error codes in the order of their statuses, then of the alphabet', async () => {
    const ids = [
      ...(await pageOf('errors')).matchAll(
        /<td[^>]*>(?:\d{3} or )*(\d{3})<\/td>\s*<td[^>]*><span id="(\w+)"/g,
      ),
    ];
    const found = ids.map(([, status, code]) => `${status} ${code}`);
    expect(found).toEqual(found.toSorted());
    expect(ids.map(([, , code]) => code)).toEqual(Object.keys(CODES));
  });

  test('and operations and errors are all in the index of the search', async () => {
    const { body } = await call(service, 'GET', '/search.json');
    // A field leads to the operation that asks for it.
    const pages = (body as { kind: string; address: string }[]).filter(({ kind }) => kind !== 'Field');
    const addresses = pages.map(({ address }) => address);
    expect(new Set(addresses).size).toBe(addresses.length);
    const expected = [
      ...names.map((name) => `guides/${name}`),
      ...operations.map(({ operation }) => `docs#/${operation.tags[0]}/${operation.operationId}`),
      ...Object.keys(CODES).map((code) => `guides/errors#${code}`),
    ];
    expect(addresses).toEqual(expect.arrayContaining(expected));
  });
});

describe('The search', () => {
  let find: (words: string) => { kind: string; title: string; about: string; address: string }[];
  beforeAll(async () => {
    const { body } = await call(service, 'GET', '/search.json');
    // The script of the page, which has no types.
    const script = '../src/platform/docs/site/assets/search-index.js';
    const { finderOf } = (await import(script)) as {
      finderOf: (index: typeof MiniSearch, entries: object[]) => typeof find;
    };
    find = finderOf(MiniSearch, body as object[]);
  });

  test('tells what is found in plain text', () => {
    const field = find('cursor').find(({ kind }) => kind === 'Field');
    expect(field!.about).toBe('Where the page starts: taken from the Link header of the page before.');
    const abouts = ['status', 'key', 'name', 'invalid']
      .flatMap((words) => find(words))
      .map(({ about }) => about);
    expect(abouts.filter((about) => /[`[\]]/.test(about))).toEqual([]);
  });

  test.each([
    ['pagination', 'guides/paging'],
    ['paginate', 'guides/paging'],
    ['paging', 'guides/paging'],
    ['token', 'guides/authentication'],
    ['login', 'guides/authentication'],
    ['authentcation', 'guides/authentication'],
    ['scopes', 'guides/authentication'],
    ['sdk', 'guides/clients'],
    ['javascript', 'guides/clients'],
    ['client', 'guides/clients'],
    ['oapi-codegen', 'guides/clients#oapi-codegen'],
    ['throttle', 'guides/limits'],
    ['limits', 'guides/limits'],
    ['beta', 'guides/versions#stability'],
    ['experimental', 'guides/versions#stability'],
    ['changelog', 'guides/versions'],
    ['deprecation', 'guides/versions#deprecation'],
    ['quickstart', 'guides/first-steps'],
    ['retry', 'guides/errors#what-to-send-again'],
    ['errors', 'guides/errors'],
    ['idempotency', 'guides/idempotency'],
    ['webhook', 'guides/messages'],
    ['int64', 'guides/int64'],
    ['health', 'guides/errors#service_unavailable'],
    ['429', 'guides/errors#rate_limited'],
    ['rate_limited', 'guides/errors#rate_limited'],
    ['rate_lim', 'guides/errors#rate_limited'],
    ['pet_not_found', 'guides/errors#pet_not_found'],
    ['missing_api_key', 'guides/errors#missing_api_key'],
    ['rotate key', 'docs#/accounts/rollApiKey'],
    ['roll', 'docs#/accounts/rollApiKey'],
    ['signup', 'docs#/accounts/createAccount'],
    ['delete account', 'docs#/accounts/closeCurrentAccount'],
    ['order states', 'docs#/store/updateOrder'],
    ['cancel order', 'docs#/store/updateOrder'],
    ['createPet', 'docs#/pets/createPet'],
    ['placeOrder', 'docs#/store/placeOrder'],
    ['PATCH /store/orders/{orderId}', 'docs#/store/updateOrder'],
  ])('finds for %s %s first', (words, address) => {
    expect(find(words)[0]).toMatchObject({ address });
  });

  test.each(['categoryId', 'expiresAt', 'overlapSeconds', 'petId', 'If-Match', 'networks', 'cursor'])(
    'finds the field %s first',
    (title) => {
      expect(find(title)[0]).toMatchObject({ kind: 'Field', title });
    },
  );

  test('takes no status or code for another', () => {
    expect(find('409').map(({ title }) => title)).not.toContain('missing_api_key');
    expect(find('409')[0]!.kind).toBe('Error');
    expect(find('xyzzy')).toEqual([]);
  });
});

describe('The samples of the guides', () => {
  /** What is run, with what the guide shows as its answer. */
  const runnable = () =>
    samples.flatMap(({ name, ...sample }, i) => {
      if (name !== 'Shell' && name !== 'JavaScript') return [];
      const next = samples[i + 1];
      const isAnswer = next?.guide === sample.guide && ['Answer', 'HTTP', 'Text'].includes(next.name);
      return [{ ...sample, name, answer: isAnswer ? next : undefined }];
    });

  test('answer what the guides say, all of them in one shell on a new service', async () => {
    const all = runnable();
    const lines = await Promise.all(
      all.map(async ({ name, text }, i) => {
        if (name === 'Shell') return `printf '\\n@@\\n'\n${text}`;
        await writeFile(join(folder, `${i}.mjs`), text);
        return `printf '\\n@@\\n'\nAPI_KEY=$API_KEY '${process.execPath}' '${join(folder, `${i}.mjs`)}'\n`;
      }),
    );
    const env = { PATH: process.env.PATH };
    const { stdout } = await run('bash', ['-euc', lines.join('\n')], { env });
    const told = stdout.split('\n@@\n').slice(1);
    expect(told).toHaveLength(all.length);
    for (const [i, { guide, text, answer }] of all.entries())
      if (answer) expectSame({ guide, text }, told[i]!.trim(), answer);
    const pages = all.findIndex(({ text }) => text.includes('everyItem'));
    expect(told[pages]!.trim().split('\n')).toHaveLength(10);
    expect(all.filter(({ answer }) => answer).length).toBeGreaterThanOrEqual(14);
  });

  test('in JavaScript run as TypeScript too', async () => {
    const programs = runnable().filter(({ name }) => name === 'JavaScript');
    expect(programs.length).toBeGreaterThanOrEqual(3);
    const env = { PATH: process.env.PATH, API_KEY: await createKey(service) };
    for (const [i, { text }] of programs.entries()) {
      const outputs = ['mjs', 'mts'].map(async (extension) => {
        const file = join(folder, `program-${i}.${extension}`);
        await writeFile(file, text);
        return (await run(process.execPath, [file], { env })).stdout;
      });
      const [script, typed] = await Promise.all(outputs);
      expect(typed).toBe(script);
    }
  });

  /** The answer has the status, the headers and the fields that the guide shows; of an Error, also its code. */
  function expectSame(where: object, told: string, { name, text }: Sample): void {
    const shown = text.trim();
    if (name === 'Text') return expect({ ...where, told }).toEqual({ ...where, told: shown });
    if (name === 'Answer') {
      return expect({ ...where, told: shapeOf(JSON.parse(told)) }).toEqual({
        ...where,
        told: shapeOf(JSON.parse(shown)),
      });
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

describe('The receiver of the guide on messages', () => {
  const secret = `whsec_${Buffer.alloc(24, 'secret').toString('base64')}`;
  let receiver: ChildProcess;
  let output = '';
  let address: string;

  beforeAll(async () => {
    const file = join(folder, 'receiver.mjs');
    await writeFile(file, samples.find(({ name }) => name === 'receiver.mjs')!.text);
    const env = { PATH: process.env.PATH, PORT: '0', MESSAGES_WEBHOOK_SECRET: secret };
    receiver = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    receiver.stdout!.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await eventually(() => output.includes('\n'));
    address = `http://127.0.0.1:${/Listening on (\d+)/.exec(output)![1]}/hook`;
  });
  afterAll(() => receiver.kill());

  test('accepts what the service delivers', async () => {
    const env = { MESSAGES_WEBHOOK_URL: address, MESSAGES_WEBHOOK_SECRET: secret };
    const delivering = await startService(env);
    try {
      const key = await createKey(delivering);
      const { body } = await call(delivering, 'POST', '/v1/messages', {
        key,
        body: { message: 'Grüße, 🐈!' },
      });
      await eventually(() => output.includes(`Received ${body.id}: Grüße, 🐈!\n`));
      const status = async () =>
        (await call(delivering, 'GET', `/v1/messages/${body.id}`, { key })).body.status;
      await eventually(async () => (await status()) === 'delivered');
    } finally {
      await delivering.stop();
    }
  });

  test('refuses what is not signed with the secret, or was long ago, and counts what comes twice once', async () => {
    const now = new Date();
    const text = JSON.stringify({ id: 'one', message: 'Hello', createdAt: now.toISOString() });
    const deliver = async (at: Date, by = secret, body = text) => {
      const headers = {
        'webhook-id': 'one',
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': by && new Webhook(by).sign('one', at, text),
      };
      return (await fetch(address, { method: 'POST', body, headers: by ? headers : {} })).status;
    };
    const other = `whsec_${Buffer.alloc(24, 'other').toString('base64')}`;
    expect(await deliver(now, other)).toBe(401);
    expect(await deliver(now, '')).toBe(401);
    expect(await deliver(now, secret, text.replace('Hello', 'Bye'))).toBe(401);
    expect(await deliver(new Date(now.getTime() - 600_000))).toBe(401);
    expect(output).not.toContain('Received one');
    expect([await deliver(now), await deliver(now)]).toEqual([204, 204]);
    await eventually(() => output.includes('Received one: Hello\n'));
    expect(output.split('Received one')).toHaveLength(2);
  });
});
