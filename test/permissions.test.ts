import { setTimeout as sleep } from 'node:timers/promises';
import {
  call,
  createAccount,
  createCheapAccount,
  type Credentials,
  expectError,
} from '../src/testing/client.js';
import { ask, neededBy, type Request, requestsFor } from './support/authorization.js';
import { Belongings } from './support/belongings.js';
import { ALL, type Caller, callersOf, READING } from './support/callers.js';
import { examined, inWorkingOrder, operations, type Placed } from '../src/testing/document.js';
import { Customer, times } from './support/customer.js';
import { type Facts, loadFacts } from '../src/testing/facts.js';
import { query, type Service, startService } from '../src/testing/service.js';

let facts: Facts;
let service: Service;
let other: Service;
let account: Credentials & { id: number };
/** A key for each permission, which has that one alone. */
const keys = new Map<string, string>();

beforeAll(async () => {
  facts = await loadFacts();
  service = await startService();
  other = await startService({ DATABASE_URL: service.databaseUrl });
  account = await createCheapAccount(service);
  for (const one of ALL) keys.set(one, await keyWith([one]));
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

/** One whose callers ask for what it has, and for what the next has. */
interface Account {
  has: Belongings;
  next: Belongings;
  callers: Caller[];
}

const create = (permissions: unknown, by: Credentials = account) =>
  call(service, 'POST', '/v1/api-keys', { account: by, body: { name: 'Limited', permissions } });
const keyWith = async (permissions: string[], by?: Credentials): Promise<string> =>
  (await create(permissions, by)).body.key;
/** Sets what an account may do, as an administrator does. */
const limit = (id: number, permissions: string[] | null) =>
  query(service.databaseUrl, 'UPDATE accounts SET permissions = $2 WHERE id = $1', [id, permissions]);

describe('Every operation', () => {
  const closed = inWorkingOrder(examined).filter(({ operation }) => operation.security.length > 0);
  const all = closed.map((one) => [one.operation.operationId, one] as const);
  /** Accounts, whose callers ask for what they have, and for what the next has. The last may only read any more. */
  async function newAccounts(): Promise<Account[]> {
    const [ada, ben, cy] = await Promise.all([1, 2, 3].map(() => Belongings.of(service, facts)));
    const of = async (has: Belongings, next: Belongings, limits = ALL) => ({
      has,
      next,
      callers: await callersOf(service, has.account, limits),
    });
    const made = await Promise.all([of(ada!, ben!), of(ben!, ada!), of(cy!, ada!, READING)]);
    await limit(cy!.account.id, READING);
    return made;
  }
  /** Whether nobody who has asked for it can ask for anything else. */
  const isLast = ({ method, path }: Placed) => method === 'DELETE' && !path.includes('{');
  const requestsOf = (one: Placed, { has, next, callers }: Account) =>
    callers.map((caller) =>
      requestsFor({ one, caller, has, next }, facts.choices?.[one.operation.operationId]),
    );
  let shared: Account[];
  beforeAll(async () => (shared = await newAccounts()));

  test('that a key opens needs a permission of the list, except the one by which a key revokes itself', () => {
    const opened = operations.filter((one) => neededBy(one));
    const needing = opened.filter((one) => neededBy(one)!.length === 0);
    expect(needing.map(({ operation }) => operation.operationId)).toEqual(['revokeCurrentApiKey']);
    expect(ALL).toEqual(expect.arrayContaining([...new Set(opened.flatMap((one) => neededBy(one)!))]));
  });

  test.each(all)(
    '%s answers each caller as its key and its account say, and tells and changes nothing of others',
    async (_id, one) => {
      const wrong: string[] = [];
      for (const whose of isLast(one) ? await newAccounts() : shared) {
        const { has, next } = whose;
        const before = await rowsOf(one, has, next);
        const run = async (requests: Request[]) => {
          for (const request of requests) wrong.push(...(await ask(service, request)));
        };
        await Promise.all(requestsOf(one, whose).map(run));
        expect(await rowsOf(one, has, next)).toEqual(before);
      }
      expect(wrong).toEqual([]);
    },
  );

  test('is asked for hundreds of things', () => {
    const asked = all.flatMap(([, one]) => shared.flatMap((whose) => requestsOf(one, whose).flat()));
    expect(asked.length).toBeGreaterThan(200 * all.length);
  });

  const rowsOf = (one: Placed, ...all: Belongings[]) => Promise.all(all.map((has) => has.rows(one)));
});

describe('An order', () => {
  const change = (key: string, id: number, status: unknown) =>
    call(service, 'PATCH', `/v1/store/orders/${id}`, { key, body: { status } });

  test('is approved and delivered with orders:manage, and cancelled with orders:write', async () => {
    const customer = await Customer.of(service, account);
    const [write, manage] = [keys.get('orders:write')!, keys.get('orders:manage')!];
    const { id } = await customer.orderAt('placed');
    for (const status of ['approved', 'delivered']) {
      const message = expectError(await change(write, id, status), 403, 'permission_denied');
      expect(message).toContain('`orders:manage`');
    }
    expect((await change(manage, id, 'approved')).status).toBe(200);
    const message = expectError(await change(manage, id, 'cancelled'), 403, 'permission_denied');
    expect(message).toContain('`orders:write`');
    expect((await change(write, id, 'cancelled')).status).toBe(200);
    const second = await customer.orderAt('approved');
    expect((await change(manage, second.id, 'delivered')).status).toBe(200);
  });

  test('that is not there, or that the body says nothing of, changes none of that', async () => {
    const [write, manage] = [keys.get('orders:write')!, keys.get('orders:manage')!];
    expectError(await change(write, 0, 'approved'), 403, 'permission_denied');
    expectError(await change(write, 0, 'cancelled'), 404, 'order_not_found');
    expectError(await change(manage, 0, 'approved'), 404, 'order_not_found');
    for (const status of [undefined, null, 'toString', 5, ['approved']])
      expectError(await change(write, 0, status), 400, 'validation_failed');
  });
});

describe('The permissions of a key', () => {
  test('are all of its account when it is made without, and are told in the order they were given', async () => {
    expect((await create(undefined)).body.permissions).toEqual(ALL);
    const some = ['orders:read', 'pets:read'];
    const { status, body } = await create(some);
    expect([status, body.permissions]).toEqual([201, some]);
    const { body: list } = await call(service, 'GET', '/v1/api-keys?limit=100', { account });
    expect(list.find(({ id }: { id: number }) => id === body.id).permissions).toEqual(some);
  });

  test.each([
    ['an empty list', []],
    ['one that is not known', ['pets:read', 'pets:fly']],
    ['one twice', ['pets:read', 'pets:read']],
    ['null', null],
    ['a text', 'pets:read'],
    ['an object', { 0: 'pets:read', length: 1 }],
    ['a list of lists', [['pets:read']]],
    ['a word of JavaScript', ['constructor']],
  ])('are not %s', async (_what, permissions) => {
    const message = expectError(await create(permissions), 400, 'validation_failed');
    expect(message).toMatch(
      /^permissions(?:\[[01]\])? must (?:be a list of 1 to|be one of pets:read, |not have)/,
    );
  });

  test('are only those that its account has, which is looked at after the list itself', async () => {
    const owner = await createAccount(service);
    await limit(owner.id, ['pets:read', 'orders:read']);
    expect((await create(undefined, owner)).body.permissions).toEqual(['pets:read', 'orders:read']);
    const message = expectError(await create(['pets:read', 'pets:write'], owner), 403, 'permission_denied');
    expect(message).toContain('`pets:write`');
    expectError(await create(['pets:write', 'pets:write'], owner), 400, 'validation_failed');
    const { body: made } = await create(['pets:read'], owner);
    const more = { account: owner, body: { permissions: ['pets:read', 'pets:write'] } };
    expectError(await call(service, 'PATCH', `/v1/api-keys/${made.id}`, more), 403, 'permission_denied');
  });

  test('count at once where they were changed, to fewer and to more', async () => {
    const { body } = await create(['pets:read']);
    const read = () => call(service, 'GET', '/v1/pets?limit=1', { key: body.key });
    const change = (permissions: string[]) =>
      call(service, 'PATCH', `/v1/api-keys/${body.id}`, { account, body: { permissions } });
    expect((await read()).status).toBe(200);
    expect((await change(['pets:write'])).body.permissions).toEqual(['pets:write']);
    expectError(await read(), 403, 'permission_denied');
    await change(['pets:read', 'pets:write']);
    expect((await read()).status).toBe(200);
  });
});

describe('Another instance refuses a key within a second of the answer', () => {
  interface Owned {
    owner: Credentials & { id: number };
    id: number;
    key: string;
  }
  const send = async (method: string, path: string, { owner }: Owned, body?: unknown) =>
    expect((await call(service, method, path, { account: owner, body })).status).toBeLessThan(300);
  const change = (one: Owned, body: unknown) => send('PATCH', `/v1/api-keys/${one.id}`, one, body);

  test.each<[string, (one: Owned) => Promise<unknown>]>([
    ['was revoked', (one) => send('DELETE', `/v1/api-keys/${one.id}`, one)],
    ['has revoked itself', ({ key }) => call(service, 'DELETE', '/v1/api-keys/current', { key })],
    ['was rolled', (one) => send('POST', `/v1/api-keys/${one.id}/roll`, one)],
    ['has lost its permission', (one) => change(one, { permissions: ['pets:write'] })],
    ['was given an end', end],
    [
      'was revoked with all others',
      (one) => send('PATCH', '/v1/accounts/current', one, { revokeKeys: true }),
    ],
    ['is of an account that was closed', (one) => send('DELETE', '/v1/accounts/current', one)],
    ['is of an account that lost the permission', ({ owner }) => limit(owner.id, ['pets:write'])],
  ])('that %s', async (_what, take) => {
    const late = await times(6, async () => {
      const owner = await createAccount(service);
      const made = await create(undefined, owner);
      expect(made.status).toBe(201);
      const one: Owned = { owner, ...made.body };
      const ask = async () => (await call(other, 'GET', '/v1/pets?limit=1', { key: one.key })).status;
      return acceptedAfter(ask, () => take(one));
    });
    expect(Math.max(...late)).toBeLessThan(1_000);
  });

  /** Has a key expire soon, and waits until it has. */
  async function end(one: Owned): Promise<void> {
    const expiresAt = Date.now() + 3_000;
    await change(one, { expiresAt: new Date(expiresAt).toISOString() });
    await sleep(expiresAt - Date.now());
  }

  /**
   * Milliseconds after a change in which the last request began that was accepted. They are sent all the time, until one
   * is refused.
   */
  async function acceptedAfter(ask: () => Promise<number>, take: () => Promise<unknown>) {
    let taken = Infinity;
    let taking: Promise<unknown> | undefined;
    let last = 0;
    for (let status = 0; last < 5_000 && status !== 401 && status !== 403; await sleep(25)) {
      const begun = Date.now();
      status = await ask();
      if (status === 200) last = Math.max(last, begun - taken);
      else expect([401, 403]).toContain(status);
      if (status === 200) taking ??= take().finally(() => (taken = Date.now()));
    }
    expect(taking).toBeDefined();
    await taking;
    return last;
  }
});

describe('ACCOUNT_PERMISSIONS', () => {
  test('are what new accounts have, and no others', async () => {
    const limited = await startService({
      DATABASE_URL: service.databaseUrl,
      ACCOUNT_PERMISSIONS: 'pets:read,orders:read,orders:write',
    });
    const newcomer = await createAccount(limited);
    const { body } = await call(limited, 'GET', '/v1/accounts/current', { account: newcomer });
    expect(body.permissions).toEqual(['pets:read', 'orders:read', 'orders:write']);
    const { body: made } = await create(undefined, newcomer);
    expect((await call(limited, 'GET', '/v1/pets', { key: made.key })).status).toBe(200);
    const add = await call(limited, 'POST', '/v1/pets', { key: made.key, body: '{' });
    expectError(add, 403, 'permission_denied');
    const { body: old } = await call(limited, 'GET', '/v1/accounts/current', { account });
    expect(old.permissions).toEqual(ALL);
    await limited.stop();
  });

  test.each(['pets:read,pets:fly', 'pets:read,pets:read', 'pets:read,', 'pets:read, orders:read'])(
    'and SIGN_UP are checked at the start, with all else: %s',
    async (ACCOUNT_PERMISSIONS) => {
      const env = { DATABASE_URL: service.databaseUrl, ACCOUNT_PERMISSIONS, SIGN_UP: 'maybe', PORT: 'x' };
      await expect(startService(env)).rejects.toThrow(
        /Invalid environment: (?=.*PORT must)(?=.*SIGN_UP must be one of)(?=.*ACCOUNT_PERMISSIONS must be some of pets:read, )/,
      );
    },
  );
});
