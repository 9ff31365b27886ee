import fc from 'fast-check';
import { breaks } from '../support/break.js';
import { createKey } from '../../src/testing/client.js';
import { checkerOf, document, type Placed } from '../../src/testing/document.js';
import { EverythingController } from '../support/every-field.js';
import { type Extended, startExtended } from '../support/extended.js';
import { bodyOf, type Parts, pathOf, validParts } from '../support/generate.js';
import { type Service, startService } from '../../src/testing/service.js';

let service: Service;
let extended: Extended;
let key: string;
let schemas: Record<string, unknown>;
const operations: Record<string, Placed> = {};

beforeAll(async () => {
  service = await startService();
  key = await createKey(service);
  extended = await startExtended(service.databaseUrl, EverythingController);
  const served = (await (await fetch(`${extended.url}/openapi.json`)).json()) as typeof document;
  ({ schemas } = served.components);
  // Where the generators look up references.
  Object.assign(document.components.schemas, { ...schemas, ...document.components.schemas });
  for (const method of ['post', 'patch', 'get']) {
    operations[method] = {
      method: method.toUpperCase(),
      path: '/everything',
      operation: served.paths['/everything'][method],
    };
  }
});
afterAll(async () => {
  await extended.stop();
  await service.stop();
});

const TYPE = { 'Content-Type': 'application/json' };

async function send(
  method: string,
  path: string,
  body?: string | Buffer,
  headers: Record<string, string> = TYPE,
) {
  const response = await fetch(extended.url + path, {
    method,
    headers: { Authorization: `Bearer ${key}`, ...headers },
    body: body as string | undefined,
  });
  return { status: response.status, text: await response.text() };
}
const request = (parts: Parts) =>
  send(parts.method, pathOf(parts), bodyOf(parts) as string, { ...TYPE, ...parts.headers });
const post = (body: string) => send('POST', '/v1/everything', body);
const change = (body: string) => send('PATCH', '/v1/everything', body);
const messageOf = ({ status, text }: { status: number; text: string }) => {
  expect(status).toBe(400);
  const { code, message } = JSON.parse(text);
  expect(code).toBe('validation_failed');
  return message as string;
};
const told = async (answer: Promise<{ text: string }>) => JSON.parse(JSON.parse((await answer).text).told);

const EXAMPLE = () =>
  operations.post!.operation.requestBody!.content['application/json']!.example as Record<string, unknown>;
const withJson = (name: string, json: string) =>
  `{${Object.entries({ ...EXAMPLE(), [name]: 0 })
    .map(([other, value]) => `"${other}":${other === name ? json : JSON.stringify(value)}`)
    .join()}}`;

/** A field of the answer, as text. */
async function echoed(name: string, json: string): Promise<string> {
  const { status, text } = await post(withJson(name, json));
  expect([status, text]).toEqual([200, expect.any(String)]);
  return new RegExp(`"${name}":("[^"]*"|[^,]*|\\[[^\\]]*\\]),"`).exec(text)![1]!;
}

describe('Fields of every kind', () => {
  test('come back as they are sent, in the form that the document says, and then stay as they are', async () => {
    const check = checkerOf({ $ref: '#/components/schemas/Everything' }, schemas);
    await fc.assert(
      fc.asyncProperty(validParts(operations.post!), async (parts) => {
        const first = await request(parts);
        expect([first.status, first.text]).toEqual([200, expect.any(String)]);
        check(first.text);
        expect(await post(first.text)).toEqual(first);
        const sent = new Map(parts.fields);
        const answered = JSON.parse(first.text) as Record<string, unknown>;
        for (const name of [
          'flag',
          'day',
          'code',
          'url',
          'email',
          'texts',
          'numbers',
          'sizes',
          'lists',
          'labels',
        ])
          expect(answered[name]).toEqual(JSON.parse(sent.get(name)!));
        for (const name of ['known', 'maybe', 'settings'])
          expect(Object.keys(answered[name] ?? {})).toEqual(Object.keys(JSON.parse(sent.get(name) ?? '{}')));
        const settings = sent.get('settings');
        if (settings) expect(partOf(first.text, 'settings')).toEqual(exactly(settings));
      }),
      { numRuns: 150 },
    );
  });

  test.each(['post', 'patch', 'get'])(
    'are refused by %s where one thing is wrong in one place, which the answer names',
    async (method) => {
      const one = operations[method]!;
      await fc.assert(
        fc.asyncProperty(validParts(one), breaks(one), async (parts, broken) => {
          const answer = await request(broken.apply({ ...parts, method: one.method, headers: {} }));
          expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(broken.code)]);
          expect(JSON.parse(answer.text).message).toContain(broken.place ?? '');
        }),
        { numRuns: 600 },
      );
    },
    60_000,
  );

  test.each(['patch', 'get'])('are accepted by %s as the document says', async (method) => {
    await fc.assert(
      fc.asyncProperty(validParts(operations[method]!), async (parts) => {
        expect(await request(parts)).toMatchObject({ status: 200 });
      }),
      { numRuns: 150 },
    );
  });
});

describe('A nested field', () => {
  test('names the path of everything that is wrong inside it', async () => {
    const wrong = {
      ...EXAMPLE(),
      address: { city: 1, street: { no: 0 } },
      items: [{ petId: 1, price: '1' }, { petId: 'x', price: '1', notes: ['', 'a'] }, null],
      lists: [['2030-02-30']],
    };
    const reasons = messageOf(await post(JSON.stringify(wrong))).split('; ');
    expect(reasons.map((reason) => reason.replace(/ (?:must be|is) .*/, ''))).toEqual([
      'address.city',
      'address.street.name',
      'address.street.no',
      'items[1].petId',
      'items[1].notes[0]',
      'items[2]',
      'lists[0][0]',
    ]);
    expect(reasons[1]).toBe('address.street.name is required');
  });

  test('is refused for its length before its items are looked at', async () => {
    const long = `[${Array(20_000).fill('{}').join()}]`;
    expect(messageOf(await post(withJson('items', long)))).toBe('items must be a list of 0 to 4 items.');
    const many = `{${Array.from({ length: 5_000 }, (_, i) => `"k${i}":1`).join()}}`;
    expect(messageOf(await post(withJson('labels', many)))).toBe(
      'labels must be an object of at most 3 properties.',
    );
  });

  test.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'])(
    'has no property that the client names %s',
    async (name) => {
      const message = messageOf(await post(withJson('labels', `{"a":"b","${name}":"x"}`)));
      expect(message).toBe(`labels must not have a property named ${name}.`);
    },
  );

  test('ignores what it has no field for, whatever that is', async () => {
    const street = `{"name":"Main","no":1,"__proto__":{"no":"x"},"constructor":${'['.repeat(2e3)}${']'.repeat(2e3)}}`;
    const { status, text } = await post(
      withJson('address', `{"city":"Bern","street":${street},"toString":1}`),
    );
    expect([status, JSON.parse(text).address]).toEqual([
      200,
      { city: 'Bern', street: { name: 'Main', no: 1 } },
    ]);
  });
});

/** JSON in which every integer of 64 bits is a bigint, so that each digit counts. */
const exactly = (json: string) =>
  JSON.parse(json, (_name, value: unknown, { source = '' }) =>
    typeof value === 'number' && /^-?\d{1,19}$/.test(source) ? BigInt(source) : value,
  );
const partOf = (json: string, name: string) => (exactly(json) as Record<string, unknown>)[name];

describe('JSON of any form', () => {
  test('keeps every integer of 64 bits, and other numbers as JavaScript has them', async () => {
    const sent =
      '{"a":[9223372036854775807,-9007199254740993,{"b":9007199254740993.0}],"c":1e20,"d":0.1,"e":1.00000000000000000001}';
    const { text } = await post(withJson('settings', sent));
    expect(/"settings":(.*)\}$/.exec(text)![1]).toBe(
      '{"a":[9223372036854775807,-9007199254740993,{"b":9007199254740993}],"c":100000000000000000000,"d":0.1,"e":1}',
    );
  });

  test.each([
    ['[]', 'settings must be an object of at most 2000 bytes of JSON.'],
    [`{"a":"${'ä'.repeat(1_000)}"}`, 'settings must be an object of at most 2000 bytes of JSON.'],
    [
      '{"a":[{"b":{"c":[[1]]}}]}',
      'settings["a"][0]["b"]["c"][0] must not nest objects and lists deeper than 5.',
    ],
    ['{"a":[1,"\\u0000"]}', 'settings["a"][1] must be text without NUL or lone surrogates.'],
    ['{"\\udfff":1}', 'settings must have names that are text without NUL or lone surrogates.'],
    ['{"a":{"__proto__":{"admin":true}}}', 'settings["a"] must not have a property named __proto__.'],
    [
      '{"constructor":{"prototype":{}}}',
      'settings must not have a property named constructor with a prototype.',
    ],
    ['{"a":-1e999}', 'settings["a"] must be a number that a double can hold.'],
    [
      `{"${'n'.repeat(60)}":"\\u0000"}`,
      `settings["${'n'.repeat(50)}…"] must be text without NUL or lone surrogates.`,
    ],
  ])('is refused with the path of what is wrong: %s', async (json, message) => {
    expect(messageOf(await post(withJson('settings', json)))).toBe(message);
  });

  test('may have names that every object has, which stay names', async () => {
    const sent = { constructor: 'Ferrari', toString: null, hasOwnProperty: [{ prototype: 1 }] };
    const { text } = await post(withJson('settings', JSON.stringify(sent)));
    expect(JSON.parse(text).settings).toEqual(sent);
  });
});

test('A map may have null among its values where its field says so, and the document too', async () => {
  const { status, text } = await post(withJson('known', '{"a":null,"b":9007199254740993}'));
  expect([status, text]).toEqual([200, expect.stringContaining('"known":{"a":null,"b":9007199254740993}')]);
  expect(messageOf(await post(withJson('labels', '{"a":null}')))).toMatch(/^labels\["a"\] must be text/);
  const { properties } = schemas.Everything as {
    properties: Record<string, { additionalProperties: object }>;
  };
  expect(properties.known!.additionalProperties).toEqual({
    anyOf: [expect.objectContaining({ type: 'integer', format: 'int64' }), { type: 'null' }],
  });
});

describe('An amount', () => {
  test.each([
    ['99999999999999.9951', '99999999999999.9951'],
    ['-99999999999999.9999', '-99999999999999.9999'],
    ['0.1', '0.1000'],
    ['1250e-2', '12.5000'],
    ['-0', '0.0000'],
    ['12.50000000000000000000000', '12.5000'],
    ['0.00010000000000000000e0', '0.0001'],
  ])('keeps every digit of the number %s', async (sent, answered) => {
    expect(await echoed('exact', sent)).toBe(answered);
  });

  test.each(['0.00001', '99999999999999.99991', '100000000000000', '1e-400', '0.30000000000000004', '1e999'])(
    'is not rounded to one: %s',
    async (sent) => {
      expect(messageOf(await post(withJson('exact', sent)))).toMatch(/^exact must be a number from -9/);
    },
  );

  test.each([
    ['"9999999999.99"', '"9999999999.99"'],
    ['"7"', '"7.00"'],
    ['"0.1"', '"0.10"'],
  ])('keeps every digit of the text %s', async (sent, answered) => {
    expect(await echoed('price', sent)).toBe(answered);
  });

  test('keeps them in a list too', async () => {
    const { text } = await post(withJson('amounts', '[9999999999.9900000000000, 0.1, 1e1]'));
    expect(text).toContain('"amounts":[9999999999.99,0.10,10.00]');
    expect(messageOf(await post(withJson('amounts', '[1, 0.99000000000000001]')))).toMatch(
      /^amounts\[1\] must/,
    );
  });
});

describe('A nullable field', () => {
  test('is cleared by null, and stays as it is where it is left out', async () => {
    const sent = { text: null, day: null, price: null, size: null, address: null, texts: null };
    expect(await told(change(JSON.stringify(sent)))).toEqual(sent);
    expect(await told(change('{"day":"2030-01-31"}'))).toEqual({ day: '2030-01-31' });
    expect(await told(change('{}'))).toEqual({});
  });

  test('is null nowhere else', async () => {
    expect(messageOf(await change('{"texts":[null],"address":{"city":null},"price":1}')).split('; ')).toEqual(
      [
        expect.stringMatching(/^price must be .*, or null$/),
        expect.stringMatching(/^address\.city must be (?!.*null)/),
        expect.stringMatching(/^texts\[0\] must be (?!.*null)/),
      ],
    );
  });

  test('has null among its types in the document', () => {
    const { properties } = schemas.EverythingChange as { properties: Record<string, object> };
    expect(properties).toMatchObject({
      text: { type: ['string', 'null'] },
      texts: { type: ['array', 'null'] },
      size: { anyOf: [{ $ref: '#/components/schemas/Size' }, { type: 'null' }] },
      address: { anyOf: [{ $ref: '#/components/schemas/Address' }, { type: 'null' }] },
    });
  });
});

test('The parameters of a query are read as what they are', async () => {
  const asked = '?flag=false&day=2030-01-31&price=-0.5&sizes=small,large&days=2030-01-31,2024-02-29&ids=7';
  expect(await told(send('GET', `/v1/everything${asked}`))).toEqual({
    ...{ flag: false, day: '2030-01-31', price: '-0.50', sizes: ['small', 'large'] },
    ...{ days: ['2030-01-31', '2024-02-29'], ids: ['7'] },
  });
  const wrong = '?flag=0&day=2030-02-30&price=9&sizes=small,tiny&days=1,2,3,4&ids=1&ids=2';
  expect(messageOf(await send('GET', `/v1/everything${wrong}`)).split('; ')).toEqual([
    'flag must be true or false',
    'day must be a day such as 2030-01-31',
    expect.stringMatching(/^price must be text with a number from -5\.00 to 5\.00/),
    'sizes[1] must be one of small, large',
    'days must be 1 to 3 values, separated by commas',
    'ids must be 1 to 3 values, separated by commas.',
  ]);
});
