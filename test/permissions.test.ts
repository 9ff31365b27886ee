import { call, createCheapAccount, type Credentials, expectError } from '../src/testing/client.js';
import { examined, inWorkingOrder, operations, type Placed } from '../src/testing/document.js';
import type { Facts } from '../src/testing/facts.js';
import { loadFacts } from './support/facts.js';
import { query, sharedService } from '../src/testing/service.js';
import { ask, neededBy, type Request, requestsFor } from './support/authorization.js';
import { Belongings } from './support/belongings.js';
import { ALL, type Callers, callersOf, READING } from './support/callers.js';

const service = sharedService();

const create = (permissions: unknown, by: Credentials) =>
  call(service, 'POST', '/v1/api-keys', { account: by, body: { name: 'Limited', permissions } });
const limit = (id: number, permissions: string[]) =>
  query(service.databaseUrl, 'UPDATE accounts SET permissions = $2 WHERE id = $1', [id, permissions]);

describe('Every operation', () => {
  /** Callers of an account, who ask for what it has, and for what the next has. */
  interface Account {
    callers: Callers;
    has: Belongings;
    next: Belongings;
  }
  let facts: Facts;
  let shared: Account[];
  beforeAll(async () => {
    facts = await loadFacts();
    shared = await newAccounts();
  });

  /** One that may do everything, and one that may only read any more. */
  async function newAccounts(): Promise<Account[]> {
    const [next, ada, cy] = await Promise.all([1, 2, 3].map(() => Belongings.of(service, facts)));
    const both = [
      { callers: await callersOf(service, ada!.account), has: ada!, next: next! },
      { callers: await callersOf(service, cy!.account, READING), has: cy!, next: next! },
    ];
    await limit(cy!.account.id, READING);
    return both;
  }

  const closed = inWorkingOrder(examined).filter(({ operation }) => operation.security.length > 0);
  const all = closed.map((one) => [one.operation.operationId, one] as const);
  /** Whether nobody who has asked for it can ask for anything else. */
  const isLast = ({ method, path }: Placed) => method === 'DELETE' && !path.includes('{');

  test('that a key opens needs a permission of the list, except the one by which a key revokes itself', () => {
    const opened = operations.filter((one) => neededBy(one));
    const needing = opened.filter((one) => neededBy(one)!.length === 0);
    expect(needing.map(({ operation }) => operation.operationId)).toEqual(['revokeCurrentApiKey']);
    expect(ALL).toEqual(expect.arrayContaining([...new Set(opened.flatMap((one) => neededBy(one)!))]));
  });

  test.each(all)(
    '%s answers each caller as its key and its account say, and tells and changes nothing of others',
    async (operationId, one) => {
      const choices = facts.choices?.[operationId];
      const needed = choices?.map(({ needs }) => needs) ?? neededBy(one) ?? [];
      const wrong: string[] = [];
      for (const { callers, has, next } of isLast(one) ? await newAccounts() : shared) {
        const rows = () => Promise.all([has, next].map((belongings) => belongings.rows(one)));
        const before = await rows();
        const run = async (requests: Request[]) => {
          for (const request of requests) wrong.push(...(await ask(service, request)));
        };
        const asked = callers(needed).map((caller) => requestsFor({ one, caller, has, next }, choices));
        expect(asked.length).toBeGreaterThanOrEqual(8);
        await Promise.all(asked.map(run));
        expect(await rows()).toEqual(before);
      }
      expect(wrong).toEqual([]);
    },
  );
});

test('A key has at most the permissions of its account: all when it is made without a list, which is looked at first', async () => {
  const owner = await createCheapAccount(service);
  await limit(owner.id, ['pets:read', 'orders:read']);
  expect((await create(undefined, owner)).body.permissions).toEqual(['pets:read', 'orders:read']);
  const { status, body: made } = await create(['orders:read', 'pets:read'], owner);
  expect([status, made.permissions]).toEqual([201, ['orders:read', 'pets:read']]);
  const message = expectError(await create(['pets:read', 'pets:write'], owner), 403, 'permission_denied');
  expect(message).toContain('`pets:write`');
  expectError(await create(['pets:write', 'pets:write'], owner), 400, 'validation_failed');
  const more = { account: owner, body: { permissions: ['pets:read', 'pets:write'] } };
  expectError(await call(service, 'PATCH', `/v1/api-keys/${made.id}`, more), 403, 'permission_denied');
});
