import {
  type Answer,
  call,
  createAccount,
  type Credentials,
  expectError,
  expectRevoked,
} from './support/client.js';
import { addressOf, document, exampleOf, operations, type Placed } from './support/contract.js';
import { Customer } from './support/customer.js';
import { query, type Service, startService } from './support/service.js';

/** Every permission: modules add theirs. */
const ALL = document.components.schemas.Permission.enum as string[];

let service: Service;
let other: Service;
let account: Credentials & { id: number };
/** A key for each permission, which has that one alone. */
const keys = new Map<string, string>();

beforeAll(async () => {
  service = await startService();
  other = await startService({ DATABASE_URL: service.databaseUrl });
  account = await createAccount(service);
  for (const one of ALL) keys.set(one, await keyWith([one]));
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

const create = (permissions: unknown, by: Credentials = account) =>
  call(service, 'POST', '/v1/api-keys', { account: by, body: { name: 'Limited', permissions } });
const keyWith = async (permissions: string[], by?: Credentials): Promise<string> =>
  (await create(permissions, by)).body.key;
/** Sets what an account may do, as an administrator does. */
const limit = (id: number, permissions: string[] | null) =>
  query(service.databaseUrl, 'UPDATE accounts SET permissions = $2 WHERE id = $1', [id, permissions]);

/** The permissions of which an operation needs one; undefined where no key opens it. */
const neededBy = ({ operation: { security } }: Placed) =>
  security.some((one) => 'bearerAuth' in one) ? security.flatMap((one) => one.bearerAuth ?? []) : undefined;

describe('Every operation that a key opens', () => {
  const opened = operations.filter((one) => neededBy(one));
  const all = opened.map((one) => [one.operation.operationId, one] as const);

  test('needs a permission of the list, except the one by which a key revokes itself', () => {
    const needing = opened.filter((one) => neededBy(one)!.length === 0);
    expect(needing.map(({ operation }) => operation.operationId)).toEqual(['revokeCurrentApiKey']);
    expect(ALL).toEqual(expect.arrayContaining([...new Set(opened.flatMap((one) => neededBy(one)!))]));
  });

  test.each(all.filter(([, one]) => neededBy(one)!.length > 0))(
    '%s is refused to a key with any other permission, whatever the request holds or names',
    async (_id, one) => {
      const needed = neededBy(one)!;
      for (const permission of ALL.filter((name) => !needed.includes(name))) {
        const key = keys.get(permission)!;
        const path = addressOf(one, () => 'no-such-id');
        const message = expectError(
          await call(service, one.method, path, { key, body: exampleOf(one) && '{' }),
          403,
          'permission_denied',
        );
        for (const name of needed) expect(message).toContain(`\`${name}\``);
        expectError(
          await call(service, one.method, addressOf(one), { key, body: exampleOf(one) }),
          403,
          'permission_denied',
        );
      }
    },
  );

  test.each(all.filter(([, one]) => neededBy(one)!.length > 0))(
    '%s is open to a key with one that it names, and not without a key',
    async (_id, one) => {
      for (const permission of neededBy(one)!) {
        const body = exampleOf(one) && '{';
        const { status } = await call(service, one.method, addressOf(one), {
          key: keys.get(permission),
          body,
        });
        if (body) expect(status).toBe(400);
        else expect([401, 403, 500]).not.toContain(status);
      }
      expectError(await call(service, one.method, addressOf(one), {}), 401, 'missing_api_key');
    },
  );

  test.each(all.filter(([, one]) => neededBy(one)!.length > 0))(
    '%s is refused to a key that has everything, of an account that lacks the permission',
    async (_id, one) => {
      const owner = await createAccount(service);
      const { body } = await create(undefined, owner);
      const rest = ALL.filter((name) => !neededBy(one)!.includes(name));
      await limit(owner.id, rest);
      const answer = await call(service, one.method, addressOf(one), { key: body.key, body: exampleOf(one) });
      expectError(answer, 403, 'permission_denied');
      await limit(owner.id, null);
    },
  );
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
  });

  test('count everywhere within a second of a change, to fewer and to more', async () => {
    const { body } = await create(['pets:read']);
    const read = async (at: Service): Promise<Answer> =>
      call(at, 'GET', '/v1/pets?limit=1', { key: body.key });
    const change = (permissions: string[]) =>
      call(service, 'PATCH', `/v1/api-keys/${body.id}`, { account, body: { permissions } });
    expect((await read(other)).status).toBe(200);
    expect((await change(['pets:write'])).body.permissions).toEqual(['pets:write']);
    expectError(await read(service), 403, 'permission_denied');
    // 403 and 401 are alike for what this waits for: that no request is let in any more.
    await expectRevoked(async () => [refused(await read(other))]);
    await change(['pets:read', 'pets:write']);
    expect((await read(service)).status).toBe(200);
  });
});

/** An answer 403 as if it were 401. */
const refused = (answer: Answer): Answer => ({
  ...answer,
  status: answer.status === 403 ? 401 : answer.status,
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

  test('and SIGN_UP are checked at the start, with all else', async () => {
    const env = {
      DATABASE_URL: service.databaseUrl,
      ACCOUNT_PERMISSIONS: 'pets:read,pets:fly',
      SIGN_UP: 'maybe',
      PORT: 'x',
    };
    await expect(startService(env)).rejects.toThrow(
      /Invalid environment: (?=.*PORT must)(?=.*SIGN_UP must be one of)(?=.*ACCOUNT_PERMISSIONS must be some of pets:read, )/,
    );
  });
});
