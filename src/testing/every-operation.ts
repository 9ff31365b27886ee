import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
  type Answer,
  authorizationOf,
  call,
  type CallOptions,
  createCheapAccount,
  createKey,
  type Credentials,
  credentialsFor,
  expectError,
  send,
} from './client.js';
import {
  addressOf,
  codesOf,
  contentOf,
  document,
  exampleOf,
  examined,
  inWorkingOrder,
  makes,
  operations,
  parametersIn,
  type Placed,
  successOf,
} from './document.js';
import { addExamples, Examples } from './examples.js';
import { type Facts, loadFacts } from './facts.js';
import { absent, parameters } from './schema.js';
import { sharedService, startService, type TestedService } from './service.js';

/** What Jest, and others that take after it, give a file of tests. */
interface Runner {
  beforeAll: (work: () => Promise<void>) => void;
  test: (name: string, work: () => Promise<void>) => void;
}

/**
 * Defines tests that hold for every operation of `openapi.json` in the working directory, whoever has made it: its examples
 * succeed on a fresh database, what is not there is not found, and each code that follows from the shape of an operation
 * is answered as documented: to no key, to a wrong one, to a body of another type, too large or malformed, to a repeated
 * key for another request. Every answer is held against the document. What they cannot know of a feature by themselves is
 * in `test/<feature>.facts.ts`, which exports `facts` (type `Facts`).
 */
export function testEveryOperation(): void {
  const { beforeAll, test } = globalThis as unknown as Runner;
  let facts: Facts;
  let tried: Tried;
  beforeAll(async () => {
    facts = await loadFacts();
    tried = await Tried.of(sharedService(), facts);
  });

  test('The examples of the document succeed as they stand, one after another, on a fresh database', () =>
    tryExamples(facts));
  for (const one of examined) {
    const { operationId } = one.operation;
    for (const code of codesOf(one).filter((each) => each in PROVOKED)) {
      test(`${operationId} answers ${code} as documented`, async () => {
        const { status } = document.components.examples[code].value;
        expectError(await PROVOKED[code]!(tried, one), status, code);
      });
    }
    if (one.path.includes('{'))
      test(`${operationId} does not find what is not there, unless it makes what its client names`, () =>
        tried.doesNotFind(one));
  }
}

async function tryExamples(facts: Facts): Promise<void> {
  const fresh = await startService();
  const examples = await Examples.of(fresh, facts);
  const has: CallOptions = {};
  const statuses: string[] = [];
  const expected: string[] = [];
  for (const one of inWorkingOrder(operations)) {
    const { operationId } = one.operation;
    const answer = await examples.send(fresh, one, has);
    statuses.push(`${operationId} ${answer.status}`);
    expected.push(`${operationId} ${successOf(one).status}`);
    if (operationId === 'createAccount') has.account = exampleOf(one) as Credentials;
    if (operationId === 'createAccount') has.key = await createKey(fresh, has.account);
    if (operationId === 'createApiKey') has.key = answer.body.key;
  }
  await fresh.stop();
  assert.deepEqual(statuses, expected);
}

/** A service whose operations are tried, with credentials for all of them. */
class Tried {
  private constructor(
    private readonly service: TestedService,
    readonly account: Credentials & { id: number },
    readonly key: string,
    private readonly facts: Facts,
  ) {}

  static async of(service: TestedService, facts: Facts): Promise<Tried> {
    const account = await createCheapAccount(service);
    return new Tried(service, account, await createKey(service, account), facts);
  }

  /** Sends the example of an operation with its credentials, unless `options` say otherwise. */
  ask(one: Placed, options: CallOptions = {}, query: Record<string, string> = {}): Promise<Answer> {
    const content = options.body === undefined ? contentOf(one) : {};
    return call(this.service, one.method, addressOf(one, undefined, query), {
      ...credentialsFor(one, this),
      ...content,
      ...options,
      headers: { ...content.headers, ...options.headers },
    });
  }

  /** Sends the start of a request for an operation over a socket. */
  begin(one: Placed, rest: string): Promise<Answer> {
    const { method } = one;
    const path = addressOf(one);
    const authorization = authorizationOf(credentialsFor(one, this));
    const credentials = authorization ? `Authorization: ${authorization}\r\n` : '';
    const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\n${credentials}${rest}\r\n\r\n`;
    return send(this.service, head, { method, path });
  }

  /** A body with a byte more than the operation takes. */
  tooLarge(one: Placed): Promise<Answer> {
    const { content, 'x-max-bytes': maxBytes = 102_400 } = one.operation.requestBody!;
    const [type = ''] = Object.keys(content);
    const headers = { 'Content-Type': type === 'multipart/form-data' ? `${type}; boundary=x` : type };
    return this.ask(one, { body: `"${'x'.repeat(maxBytes)}"`, headers });
  }

  /** An invalid body, else an invalid parameter. */
  invalid(one: Placed): Promise<Answer> {
    if (exampleOf(one)) return this.ask(one, { body: '[]' });
    if (parameters(one, 'query').some(({ name }) => name === 'limit'))
      return this.ask(one, {}, { limit: '0' });
    if (takesKeys(one)) return this.ask(one, { headers: { 'Idempotency-Key': 'a b' } });
    // Longer than any text, and neither a number nor an id.
    const path = addressOf(one, () => 'x'.repeat(5_000));
    return call(this.service, one.method, path, credentialsFor(one, this));
  }

  /** A key under which another request was sent, which has added something. */
  async reused(one: Placed): Promise<Answer> {
    const headers = { 'Idempotency-Key': `used-${one.operation.operationId}` };
    const examples = await Examples.of(this.service, this.facts);
    const isAdding = (each: Placed) => each.method === 'POST' && takesKeys(each) && !each.path.includes('{');
    for (const other of inWorkingOrder(operations).filter((each) => each !== one && isAdding(each))) {
      const { status } = await examples.send(this.service, other, this, headers);
      if (status < 300) return this.ask(one, { headers });
    }
    throw new Error('No other operation takes an Idempotency-Key');
  }

  async doesNotFind(one: Placed): Promise<void> {
    const isNew = one.method === 'PUT' && makes(one) && parametersIn(one).length === 1;
    const path = addressOf(one, isNew ? () => randomUUID() : absent);
    // What it refers to has to be there.
    const examples = isNew ? await addExamples(this.service, this, this.facts) : undefined;
    const sent = examples ? examples.contentFor(one) : contentOf(one);
    const options = { ...credentialsFor(one, this), ...sent };
    const { status, body, text } = await call(this.service, one.method, path, options);
    if (isNew) return assert.equal(status, successOf(one).status, text);
    assert.equal(status, 404, text);
    assert.ok(codesOf(one).includes(body.code), `${body.code} is not documented`);
  }
}

const takesKeys = (one: Placed) => parameters(one, 'header').some(({ name }) => name === 'Idempotency-Key');

/** What makes an operation answer with a code that follows from its shape. */
export const PROVOKED: Record<string, (tried: Tried, one: Placed) => Promise<Answer>> = {
  bad_request: (tried, one) => tried.begin(one, 'no header'),
  expectation_failed: (tried, one) => tried.begin(one, 'Expect: miracles'),
  headers_too_large: (tried, one) => tried.begin(one, `X: ${'x'.repeat(17_000)}`),
  missing_api_key: (tried, one) => tried.ask(one, { key: undefined }),
  invalid_api_key: (tried, one) => tried.ask(one, { key: 'nonsense' }),
  invalid_credentials: (tried, one) => tried.ask(one, { account: { ...tried.account, password: 'wrong' } }),
  invalid_content_type: (tried, one) => tried.ask(one, { headers: { 'Content-Type': 'model/none' } }),
  unsupported_encoding: (tried, one) => tried.ask(one, { headers: { 'Content-Encoding': 'rot13' } }),
  payload_too_large: (tried, one) => tried.tooLarge(one),
  invalid_json: (tried, one) => tried.ask(one, { body: '{' }),
  invalid_cursor: (tried, one) => tried.ask(one, {}, { cursor: 'x' }),
  validation_failed: (tried, one) => tried.invalid(one),
  idempotency_key_reused: (tried, one) => tried.reused(one),
};
