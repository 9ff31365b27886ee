import 'reflect-metadata';
import { ApiKey } from '../src/auth/api-key.entity.js';
import { ApiKeysService } from '../src/auth/api-keys.service.js';
import { newSecretKey } from '../src/auth/secret-key.js';
import { CategoriesService } from '../src/categories/categories.service.js';
import { Category } from '../src/categories/category.entity.js';
import { Transactions } from '../src/database/transactions.js';
import { IdempotencyService } from '../src/idempotency/idempotency.service.js';
import { Message } from '../src/messages/message.entity.js';
import { MessagesService } from '../src/messages/messages.service.js';
import { Outbox } from '../src/messages/outbox.js';
import { Metrics } from '../src/observability/metrics.js';
import { Pet, PetStatus } from '../src/pets/pet.entity.js';
import { PetsService } from '../src/pets/pets.service.js';
import { Order, OrderStatus } from '../src/store/order.entity.js';
import { OrdersService } from '../src/store/orders.service.js';
import { Placements } from '../src/store/placements.js';
import { type Compiled, connectCompiled, type Sent } from './support/compiled.js';
import { type PlanMode, Planner } from './support/plans.js';
import { query, type Service, startService } from './support/service.js';

const TABLES = ['accounts', 'api_keys', 'categories', 'idempotency_keys', 'messages', 'orders', 'pets'];
const ROWS = 30_000;
const MODES: PlanMode[] = ['force_generic_plan', 'force_custom_plan'];

let service: Service;
let compiled: Compiled;
let planner: Planner;
let statements: Sent[];

beforeAll(async () => {
  service = await startService();
  compiled = await connectCompiled(service.databaseUrl);
  planner = await Planner.connect(service.databaseUrl, TABLES);
  const off = TABLES.map((table) => `ALTER TABLE ${table} SET (autovacuum_enabled = off)`);
  await run(...off, ...fill(1, 10), ...TABLES.map((table) => `ANALYZE ${table}`), ...fill(11, ROWS));
  statements = await record();
});
afterAll(async () => {
  await planner.end();
  await compiled.database.destroy();
  await service.stop();
});

async function run(...all: string[]): Promise<void> {
  for (const sql of all) await query(service.databaseUrl, sql);
}

/** Rows of every table. One status is rare; half of all orders and keys are one account's, the others have one each. */
function fill(from: number, to: number): string[] {
  const numbers = `generate_series(${from}, ${to}) AS i`;
  const owner = `CASE WHEN i % 2 = 0 THEN 1 ELSE i END`;
  return [
    `INSERT INTO accounts (email, password_hash) SELECT i || '@example.com', '-' FROM ${numbers}`,
    `INSERT INTO categories (name) SELECT 'Category ' || i FROM ${numbers}`,
    `INSERT INTO pets (name, category_id, status) SELECT 'Luna ' || i, 1 + i % 10,
       CASE WHEN i % 9999 = 1 THEN 'pending' WHEN i % 2 = 0 THEN 'sold' ELSE 'available' END FROM ${numbers}`,
    `INSERT INTO orders (account_id, pet_id, status) SELECT ${owner}, i,
       CASE WHEN i % 9999 = 1 THEN 'placed' WHEN i % 2 = 0 THEN 'delivered' ELSE 'cancelled' END FROM ${numbers}`,
    `INSERT INTO api_keys (account_id, name, hash) SELECT ${owner}, 'k', sha256(i::text::bytea) FROM ${numbers}`,
    `INSERT INTO messages (id, account_id, message, status)
       SELECT gen_random_uuid(), ${owner}, 'Is Luna there?', 'queued' FROM ${numbers}`,
    `INSERT INTO idempotency_keys (account_id, key, request_hash, body)
       SELECT ${owner}, 'key ' || i, '', '{}' FROM ${numbers}`,
  ];
}

/** Has the services do everything that requests make them do, alone and at once, and returns each statement sent. */
async function record(): Promise<Sent[]> {
  const { database, sent } = compiled;
  const transactions = new Transactions(database);
  const pets = new PetsService(database.getRepository(Pet), transactions);
  const orderRows = database.getRepository(Order);
  const placements = new Placements(orderRows, pets, transactions);
  const orders = new OrdersService(orderRows, transactions, pets, placements);
  const categories = new CategoriesService(database.getRepository(Category), transactions);
  const apiKeys = new ApiKeysService(database.getRepository(ApiKey), new Metrics());
  const messages = new MessagesService(database.getRepository(Message), new Outbox(transactions));
  const ids = Array.from({ length: 100 }, (_, i) => String(i * 290 + 1));
  const cursors = [undefined, '0', '15000', '29999'];
  const pages = [1, 20, 100].flatMap((limit) => cursors.map((cursor) => ({ limit, cursor })));
  const petFilters = [
    ...[undefined, ...Object.values(PetStatus)].flatMap((status) => [{ status }, { status, ids }]),
    { ids: ['7'] },
  ];
  const orderStatuses = [undefined, ...Object.values(OrderStatus)];
  sent.length = 0;
  for (const page of pages) {
    for (const filter of petFilters) await pets.list({ ...page, ...filter });
    for (const status of orderStatuses) await orders.list('1', { ...page, status });
    await categories.list(page);
    await apiKeys.list('1', page);
  }
  // At once, so that several of one shape are read by one statement.
  await Promise.all(
    pages.flatMap((page) => [
      ...petFilters.map((filter) => pets.list({ ...page, ...filter })),
      ...orderStatuses.flatMap((status) =>
        ['1', '2'].map((account) => orders.list(account, { ...page, status })),
      ),
      ...['1', '2'].map((account) => apiKeys.list(account, page)),
      categories.list(page),
    ]),
  );
  await Promise.all(['5', '6', '7'].map((id) => Promise.all([pets.get(id), categories.get(id)])));
  await apiKeys.findOwner(newSecretKey());
  await messages.get('1', '019aa5c2-6f80-7c3e-8f3a-5d2b1c4e6f70').catch(() => {});
  const free = ['10003', '10005', '10007', '10009'];
  const placed = await Promise.all(free.map((petId) => orders.place('1', { petId })));
  await orders.place('1', { petId: '10003' }).catch(() => {});
  await orders.get('1', placed[0]!.id);
  await orders.move('1', placed[0]!.id, OrderStatus.Cancelled);
  const once = { accountId: '1', key: 'another key', requestHash: Buffer.alloc(32) };
  await new IdempotencyService(transactions).once(once, async () => ({ body: '{}', location: null }));
  return [...new Map(sent.map((one) => [one.text + JSON.stringify(one.values), one])).values()].filter(
    ({ text }) => /^(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b/.test(text),
  );
}

/** The statements whose plan costs more the more rows there are, each with what is wrong. */
async function faults(): Promise<string[]> {
  const found: string[] = [];
  for (const mode of MODES) {
    const all = mode === 'force_custom_plan' ? statements : distinctTexts();
    for (const statement of all) {
      const wrong = await planner.faultsOf(statement, mode);
      if (wrong.length > 0)
        found.push(`${mode}: ${wrong.join()}: ${statement.text} ${JSON.stringify(statement.values)}`);
    }
  }
  return found;
}

/** A generic plan does not depend on the values. */
const distinctTexts = () => [...new Map(statements.map((one) => [one.text, one])).values()];

test('The statements examined are those of every feature, alone and shared', () => {
  const texts = distinctTexts().map(({ text }) => text);
  const counts = {
    several: texts.filter((text) => text.includes('CROSS JOIN LATERAL')).length,
    placing: texts.filter((text) => text.includes('array_position')).length,
    locking: texts.filter((text) => text.includes('FOR UPDATE')).length,
    tables: TABLES.filter((table) => texts.some((text) => text.includes(`"${table}"`))),
  };
  expect(counts).toMatchObject({
    placing: 1,
    locking: 1,
    tables: TABLES.filter((table) => table !== 'accounts'),
  });
  expect(counts.several).toBeGreaterThanOrEqual(6 * 3);
});

test('Outdated statistics of a table that has grown make no statement scan or sort it', async () => {
  expect(await faults()).toEqual([]);
});

test('Fresh statistics make no statement scan or sort a table, whatever is rare in it', async () => {
  await run(...TABLES.map((table) => `VACUUM ANALYZE ${table}`));
  expect(await faults()).toEqual([]);
});

// The planner then assumes that an account has few orders of a status, and may sort them, until autovacuum has run.
test('Without statistics no statement scans a table, or sorts more than an index has found', async () => {
  await run(
    ...TABLES.map((table) => `SELECT pg_clear_relation_stats('public', '${table}')`),
    `SELECT pg_clear_attribute_stats(schemaname::text, tablename::text, attname::text, inherited) FROM pg_stats
     WHERE schemaname = 'public'`,
  );
  const found = await faults();
  expect(found.filter((fault) => !/plan: sorts orders:/.test(fault))).toEqual([]);
});

test.each([
  ['DROP INDEX pets_status_id_idx', 'pets'],
  ['ALTER TABLE pets DROP CONSTRAINT pets_pkey CASCADE', 'pets'],
  ['DROP INDEX orders_account_id_id_idx', 'orders'],
  ['DROP INDEX orders_account_id_status_id_idx', 'orders'],
  ['DROP INDEX api_keys_account_id_id_idx', 'api_keys'],
  ['ALTER TABLE api_keys DROP CONSTRAINT api_keys_hash_key', 'api_keys'],
  ['ALTER TABLE messages DROP CONSTRAINT messages_pkey', 'messages'],
])('%s makes statements scan or sort %s, and would be noticed', async (ddl, table) => {
  await planner.without(ddl, async () => {
    expect((await faults()).filter((fault) => fault.includes(table)).length).toBeGreaterThan(0);
  });
});
