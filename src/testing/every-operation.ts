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
  absent,
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
  takes,
} from './document.js';
import { addExamples, Examples } from './examples.js';
import { type Service, startService } from './service.js';

/** The functions that Jest, and similar runners, define in a file of tests. */
interface Runner {
  beforeAll: (work: () => Promise<void>) => void;
  afterAll: (work: () => Promise<void>) => void;
  test: (name: string, work: () => Promise<void>) => void;
}

/**
 * Defines tests for every operation of `openapi.json` in the working directory: its examples succeed on a fresh database,
 * unknown ids are not found, and each error code that follows from the shape of the operation is answered as documented:
 * for a missing or wrong key; a body that is too large, malformed or of another type; an idempotency key of another request.
 * Every answer is checked against the document.
 */
export function testEveryOperation(): void {
  const { beforeAll, afterAll, test } = globalThis as unknown as Runner;
  let service: ServiceUnderTest;
  beforeAll(async () => {
    service = await ServiceUnderTest.start();
  });
  afterAll(() => service.stop());

  test(
    'The examples of the document succeed as they stand, one after another, on a fresh database',
    tryExamples,
  );
  for (const placed of examined) {
    const { operationId } = placed.operation;
    for (const code of codesOf(placed).filter((each) => each in PROVOKED)) {
      test(`${operationId} answers ${code} as documented`, async () => {
        const { status } = document.components.examples[code].value;
        expectError(await PROVOKED[code]!(service, placed), status, code);
      });
    }
    if (placed.path.includes('{'))
      test(`${operationId} answers 404 for a missing resource, unless the operation creates the resource`, () =>
        service.doesNotFind(placed));
  }
}

async function tryExamples(): Promise<void> {
  const fresh = await startService();
  const examples = new Examples();
  const has: CallOptions = {};
  const statuses: string[] = [];
  const expected: string[] = [];
  for (const placed of inWorkingOrder(operations)) {
    const { operationId } = placed.operation;
    const answer = await examples.send(fresh, placed, has);
    statuses.push(`${operationId} ${answer.status}`);
    expected.push(`${operationId} ${successOf(placed).status}`);
    if (operationId === 'createAccount') has.account = exampleOf(placed) as Credentials;
    if (operationId === 'createAccount') has.key = await createKey(fresh, has.account);
    if (operationId === 'createApiKey') has.key = answer.body.key;
  }
  await fresh.stop();
  assert.deepEqual(statuses, expected);
}

/** A service on a fresh database with the examples, and credentials for all operations. */
class ServiceUnderTest {
  private constructor(
    private readonly service: Service,
    readonly account: Credentials & { id: number },
    readonly key: string,
    private readonly examples: Examples,
  ) {}

  static async start(): Promise<ServiceUnderTest> {
    const service = await startService();
    const account = await createCheapAccount(service);
    const key = await createKey(service, account);
    return new ServiceUnderTest(service, account, key, await addExamples(service, { key }));
  }

  async stop(): Promise<void> {
    await this.service.stop();
  }

  /** Sends the example of an operation with its credentials, unless `options` say otherwise. */
  ask(placed: Placed, options: CallOptions = {}, query: Record<string, string> = {}): Promise<Answer> {
    const content = options.body === undefined ? contentOf(placed) : {};
    return call(this.service, placed.method, addressOf(placed, undefined, query), {
      ...credentialsFor(placed, this),
      ...content,
      ...options,
      headers: { ...content.headers, ...options.headers },
    });
  }

  sendHead(placed: Placed, rest: string): Promise<Answer> {
    const { method } = placed;
    const path = addressOf(placed);
    const authorization = authorizationOf(credentialsFor(placed, this));
    const credentials = authorization ? `Authorization: ${authorization}\r\n` : '';
    const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\n${credentials}${rest}\r\n\r\n`;
    return send(this.service, head, { method, path });
  }

  tooLarge(placed: Placed): Promise<Answer> {
    const { content, 'x-max-bytes': maxBytes = 102_400 } = placed.operation.requestBody!;
    const [type = ''] = Object.keys(content);
    const headers = { 'Content-Type': type === 'multipart/form-data' ? `${type}; boundary=x` : type };
    return this.ask(placed, { body: `"${'x'.repeat(maxBytes)}"`, headers });
  }

  /** Sends an invalid body, or if the operation takes none, an invalid parameter. */
  invalid(placed: Placed): Promise<Answer> {
    if (exampleOf(placed)) return this.ask(placed, { body: '[]' });
    if (takes(placed, 'query', 'limit')) return this.ask(placed, {}, { limit: '0' });
    if (takesKeys(placed)) return this.ask(placed, { headers: { 'Idempotency-Key': 'a b' } });
    // Longer than any text, and neither a number nor an id.
    const path = addressOf(placed, () => 'x'.repeat(5_000));
    return call(this.service, placed.method, path, credentialsFor(placed, this));
  }

  /** Sends the idempotency key of another operation's example. */
  async reused(placed: Placed): Promise<Answer> {
    const other = this.examples.added.values().find((each) => each !== placed && takesKeys(each));
    assert(other, 'No other operation takes an Idempotency-Key');
    return this.ask(placed, { headers: { 'Idempotency-Key': other.operation.operationId } });
  }

  async doesNotFind(placed: Placed): Promise<void> {
    const isNew = placed.method === 'PUT' && makes(placed) && parametersIn(placed).length === 1;
    const path = addressOf(placed, isNew ? () => randomUUID() : absent);
    const options = { ...credentialsFor(placed, this), ...this.examples.contentFor(placed) };
    const { status, body, text } = await call(this.service, placed.method, path, options);
    // A new row with the values of the example may conflict with the row of the example.
    if (isNew) return assert.ok([successOf(placed).status, 409].includes(status), text);
    assert.equal(status, 404, text);
    assert.ok(codesOf(placed).includes(body.code), `${body.code} is not documented`);
  }
}

const takesKeys = (placed: Placed) => takes(placed, 'header', 'Idempotency-Key');

/** Requests, by error code, that provoke the error from any operation that documents the code. */
export const PROVOKED: Record<string, (service: ServiceUnderTest, placed: Placed) => Promise<Answer>> = {
  bad_request: (service, placed) => service.sendHead(placed, 'no header'),
  expectation_failed: (service, placed) => service.sendHead(placed, 'Expect: miracles'),
  headers_too_large: (service, placed) => service.sendHead(placed, `X: ${'x'.repeat(17_000)}`),
  missing_api_key: (service, placed) => service.ask(placed, { key: undefined }),
  invalid_api_key: (service, placed) => service.ask(placed, { key: 'nonsense' }),
  invalid_credentials: (service, placed) =>
    service.ask(placed, { account: { ...service.account, password: 'wrong' } }),
  invalid_content_type: (service, placed) =>
    service.ask(placed, { headers: { 'Content-Type': 'model/none' } }),
  unsupported_encoding: (service, placed) =>
    service.ask(placed, { headers: { 'Content-Encoding': 'rot13' } }),
  payload_too_large: (service, placed) => service.tooLarge(placed),
  invalid_json: (service, placed) => service.ask(placed, { body: '{' }),
  invalid_cursor: (service, placed) => service.ask(placed, {}, { cursor: 'x' }),
  validation_failed: (service, placed) => service.invalid(placed),
  idempotency_key_reused: (service, placed) => service.reused(placed),
};
