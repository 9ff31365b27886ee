import { jest } from '@jest/globals';
import fc, { type Arbitrary } from 'fast-check';
import { breaks, isBreakable } from '../support/break.js';
import {
  call,
  type CallOptions,
  createCheapAccount,
  createKey,
  type Credentials,
  credentialsFor,
  expectError,
} from '../../src/testing/client.js';
import {
  addressOf,
  contentOf,
  document,
  examined,
  checkAgainstDocument,
  operations,
  type Placed,
} from '../../src/testing/document.js';
import { exchange, garbage, type RawAnswer } from '../support/garbage.js';
import { bodyOf, type Parts, pathOf, validParts } from '../support/generate.js';
import { isThorough } from '../support/thorough.js';
import { parameters } from '../support/schema.js';
import { nextOf } from '../../src/testing/paging.js';
import { sharedService } from '../../src/testing/service.js';

// FUZZ_RUNS multiplies the cases, which are a few every time and many at night; FUZZ_SEED repeats a failed run.
const TIMES = Number(process.env.FUZZ_RUNS ?? 1) * (isThorough ? 5 : 1);
const SEED = process.env.FUZZ_SEED === undefined ? undefined : Number(process.env.FUZZ_SEED);
jest.setTimeout(120_000 * Math.max(1, TIMES / 5));
const AT_ONCE = 10;

const REFUSALS = [
  ...['validation_failed', 'invalid_json', 'invalid_content_type', 'invalid_cursor', 'bad_request'],
];
const statusOf = (code: string) => document.components.examples[code].value.status as number;
const all = examined.map((one) => [one.operation.operationId, one] as const);

const service = sharedService();
let key: string;
/** Owns keys that may be revoked, but not the key of the other operations. */
let account: Credentials;
/** Revokes itself. */
let spareKey: string;
/** Is changed and closed. */
let spareAccount: Credentials;
const cursors = new Map<string, string>();

beforeAll(async () => {
  key = await createKey(service);
  account = await createCheapAccount(service);
  spareKey = await createKey(service, account);
  spareAccount = await createCheapAccount(service);
  for (let i = 0; i < 2; i++) {
    const pet = await call(service, 'POST', '/v1/pets', {
      key,
      body: { name: 'Rex', categoryId: 1, status: 'available' },
    });
    await call(service, 'POST', '/v1/store/orders', { key, body: { petId: pet.body.id } });
    await createKey(service, account);
  }
  for (const one of operations.filter((each) => parameters(each, 'query').length > 0)) {
    const page = await call(service, 'GET', addressOf(one, undefined, { limit: '1' }), credentials(one));
    const next = nextOf(page);
    if (next) cursors.set(one.path, next.searchParams.get('cursor')!);
  }
});

const credentials = (one: Placed) =>
  credentialsFor(one, { key: one.path.endsWith('/current') ? spareKey : key, account });

function request(parts: Parts, options: CallOptions = credentials(parts.one)) {
  return call(service, parts.method, pathOf(parts), {
    ...options,
    body: bodyOf(parts),
    headers: { ...contentOf(parts.one).headers, ...parts.headers },
  });
}

/** Passwords are slow on purpose, so operations that need one are tried less often. */
const runsOf = ({ path }: Placed) => (/accounts|api-keys/.test(path) ? 5 : 15);

async function check<T>(cases: Arbitrary<T>, runs: number, holds: (value: T) => Promise<void>) {
  await fc.assert(fc.asyncProperty(cases, holds), { numRuns: Math.ceil(runs * TIMES), seed: SEED });
}

test.each(all)('A request that the document allows is not refused as invalid by %s', async (_id, one) => {
  await check(validParts(one, cursors.get(one.path)), runsOf(one), async (parts) => {
    const own = one.path === '/accounts/current' ? { account: spareAccount } : credentials(one);
    const { status, body } = await request(parts, own);
    expect(REFUSALS).not.toContain(body?.code);
    expect([429, 500, 503]).not.toContain(status);
  });
});

test.each(all.filter(([, one]) => isBreakable(one)))(
  'A request with one fault is refused by %s as documented',
  async (_id, one) => {
    const cases = fc.tuple(validParts(one, cursors.get(one.path)), breaks(one));
    await check(cases, runsOf(one), async ([parts, broken]) => {
      const answer = await request(broken.apply({ ...parts, method: one.method, headers: {} }));
      expectError(answer, statusOf(broken.code), broken.code);
      expect(answer.body.message).toContain(broken.place ?? '');
    });
  },
);

describe('Bytes that are almost a request', () => {
  const hold = (bytes: Buffer, { status, headers, text }: RawAnswer, isOpen: boolean) => {
    const sent = JSON.stringify(bytes.toString('latin1').slice(0, 300));
    if (status >= 500) throw new Error(`${status} to ${sent}: ${text}`);
    const isPage = headers.get('content-type')?.startsWith('text/html');
    // The front door is public.
    if (!isOpen && status < 300 && !isPage && !/OPTIONS/i.test(sent)) throw new Error(`${status} to ${sent}`);
    if (!headers.has('x-request-id')) throw new Error(`${status} without an id to ${sent}`);
    if (status >= 400 && text) checkAgainstDocument({ method: 'GET', path: '/', status, headers, text });
  };
  const pelt = (authorization: () => string | undefined, isOpen: boolean, reset = false) =>
    check(
      fc.array(garbage(authorization()), { minLength: AT_ONCE, maxLength: AT_ONCE }),
      5,
      async (batch) => {
        const answers = await Promise.all(batch.map((bytes) => exchange(service, bytes, reset)));
        for (const [i, some] of answers.entries()) for (const answer of some) hold(batch[i]!, answer, isOpen);
      },
    );

  test('open nothing without a key', () => pelt(() => undefined, false));
  test('break nothing with a key', () => pelt(() => `Bearer ${key}`, true));
  test('break nothing on connections that are cut off', () => pelt(() => `Bearer ${key}`, true, true));
});
