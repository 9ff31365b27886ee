import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { EntityMetadata } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { INVITATIONS, newSecret } from '../../src/auth/secret.js';
import { connect, type Connected, type Sent } from '../support/database.js';
import { addressOf, operations, type Placed } from '../../src/testing/document.js';
import {
  call,
  type CallOptions,
  createCheapAccount,
  createKey,
  credentialsFor,
} from '../../src/testing/client.js';
import { addExamples, type Examples } from '../../src/testing/examples.js';
import type { Facts } from '../../src/testing/facts.js';
import { loadFacts } from '../support/facts.js';
import { parameters, type Schema } from '../support/schema.js';
import { nextOf } from '../../src/testing/paging.js';
import { newFolder, removeFolders } from '../support/npm.js';
import { type PlanMode, Planner } from '../support/plans.js';
import { query, type Service, startService } from '../../src/testing/service.js';

const ROWS = 30_000;
const MODES: PlanMode[] = ['force_generic_plan', 'force_custom_plan'];
const RECORDING = fileURLToPath(new URL('../support/recording.js', import.meta.url));
const lists = operations.filter((one) => parameters(one, 'query').some(({ name }) => name === 'cursor'));

const recorded = join(newFolder(), 'statements.txt');
let service: Service;
let connected: Connected;
let planner: Planner;
let tables: string[];
const ofLists = new Map<string, Sent[]>();
let statements: Sent[];
let made: Examples;
let facts: Required<Facts>;

beforeAll(async () => {
  facts = await loadFacts();
  service = await startService({ STATEMENTS: recorded, SIGN_UP: 'invite' }, RECORDING);
  connected = await connect(service.databaseUrl);
  tables = connected.database.entityMetadatas.map(({ tableName }) => tableName);
  planner = await Planner.connect(service.databaseUrl, tables);
  const account = await createCheapAccount(service);
  const credentials = { account, key: await createKey(service, account) };
  await run(
    ...tables.map((table) => `ALTER TABLE ${table} SET (autovacuum_enabled = off)`),
    ...fillAll(1, 10),
  );
  made = await addExamples(service, credentials);
  await copy(2, 10);
  await run(...tables.map((table) => `ANALYZE ${table}`), ...fillAll(11, ROWS));
  await copy(11, ROWS);
  for (const one of lists) ofLists.set(one.operation.operationId, await recordList(one, credentials));
  statements = distinct([...[...ofLists.values()].flat(), ...(await record(credentials))]);
}, 120_000);
afterAll(async () => {
  await planner.end();
  await connected.database.destroy();
  await service.stop();
  await removeFolders();
});

/** Copies of the first row of each table that `fill` does not fill. What no two rows may share differs in each. */
function copies(from: number, to: number): string[] {
  const filled = new Set(fillAll(1, 1).map(tableOf));
  const others = connected.database.entityMetadatas.filter(({ tableName }) => !filled.has(tableName));
  return referredFirst(others).map((entity) => {
    const { tableName, columns, primaryColumns, uniques, indices } = entity;
    // A table whose rows may exclude each other needs `rows` of its own.
    const unique = [...uniques, ...indices.filter(({ isUnique }) => isUnique)];
    const limits = [primaryColumns, ...unique.map((one) => one.columns)];
    const limited = limits.filter((limit) => !limit.some(({ isGenerated }) => isGenerated));
    const different = limited.map((limit) => differs(entity, limit));
    const values = new Map(different.map((column) => [column.databaseName, another(column, from)]));
    const given = columns.filter((column) => !column.isGenerated).map(({ databaseName }) => databaseName);
    return `INSERT INTO ${tableName} (${given.map(quoted).join()}) SELECT ${given.map((name) => values.get(name) ?? quoted(name)).join()}
      FROM (SELECT * FROM ${tableName} LIMIT 1) AS one, generate_series(${from}, ${to}) AS i`;
  });
}

/** The value of a column in copy `i` of a row. */
function another(column: ColumnMetadata, from: number): string {
  const { databaseName: name, entityMetadata } = column;
  const reference = entityMetadata.foreignKeys.find(({ columnNames }) => columnNames.includes(name));
  if (reference) {
    // A row that no copy refers to yet.
    const [key, other] = [reference.referencedColumnNames[0]!, reference.referencedTablePath];
    const free = `SELECT ${key} FROM ${other} EXCEPT SELECT ${quoted(name)} FROM ${entityMetadata.tableName} ORDER BY 1`;
    return `(ARRAY(${free}))[i - ${from - 1}]`;
  }
  if (column.type === 'uuid') return 'gen_random_uuid()';
  if (column.type !== 'text') return `${quoted(name)} + i - 1`;
  const lengths = entityMetadata.checks.map(
    ({ expression }) =>
      new RegExp(`char_length\\("?${name}"?\\) (?:BETWEEN \\d+ AND|<=|=) (\\d+)`).exec(expression)?.[1],
  );
  const max = Math.min(...lengths.map((length) => Number(length ?? Infinity)));
  if (max > 100) return `${quoted(name)} || ' ' || i`;
  const digits = Math.min(6, max);
  return `left(${quoted(name)}, ${max - digits}) || lpad(i::text, ${digits}, '0')`;
}

/** Entities in an order in which none refers to a later one. */
function referredFirst(all: readonly EntityMetadata[]): EntityMetadata[] {
  const ordered = new Set<EntityMetadata>();
  const add = (one: EntityMetadata) => {
    if (ordered.has(one) || !all.includes(one)) return;
    for (const { referencedEntityMetadata } of one.foreignKeys) add(referencedEntityMetadata);
    ordered.add(one);
  };
  all.forEach(add);
  return [...ordered];
}

const quoted = (name: string) => `"${name}"`;

const tableOf = (insertion: string) => /INSERT INTO (\w+)/.exec(insertion)![1]!;

/**
 * The column of a key that differs in copies: if there is one, a column that refers to no other row, and may have any value.
 */
function differs({ foreignKeys, checks }: EntityMetadata, key: ColumnMetadata[]): ColumnMetadata {
  const refers = ({ databaseName }: ColumnMetadata) =>
    foreignKeys.some(({ columnNames }) => columnNames.includes(databaseName));
  const isFree = ({ databaseName, type }: ColumnMetadata) =>
    type !== 'boolean' &&
    !checks.some(({ expression }) => new RegExp(`\\b${databaseName}"? IN \\(`).test(expression));
  return key.find((column) => !refers(column) && isFree(column)) ?? key.find(refers) ?? key[0]!;
}

/**
 * Asks for pages of a list with every combination of its filters that it takes, one after the other and those of a kind at
 * once. The others have to be refused.
 */
async function recordList(one: Placed, credentials: CallOptions): Promise<Sent[]> {
  const filters = parameters(one, 'query').filter(({ name }) => name !== 'limit' && name !== 'cursor');
  const every = filters.reduce<Record<string, string>[]>(
    (all, { name, required, schema }) =>
      all.flatMap((rest) => [
        // Without a parameter that has a default, it is what it is with that.
        ...('default' in schema || required ? [] : [rest]),
        ...valuesOf(schema).map((value) => ({ ...rest, [name]: value })),
      ]),
    [{}],
  );
  const options = credentialsFor(one, credentials);
  const ask = async (search: Record<string, string>, status = 200) => {
    const page = await call(service, 'GET', made.fill(addressOf(one, undefined, search)), options);
    expect([search, page.status]).toEqual([search, status]);
    return page;
  };
  const narrowing = filters.filter(({ schema }) => !('default' in schema)).map(({ name }) => name);
  const alone = facts.alone[one.operation.operationId] ?? [];
  const isTaken = (search: Record<string, string>) =>
    !alone.some((name) => name in search && narrowing.some((other) => other !== name && other in search));
  for (const search of every) if (!isTaken(search)) await ask(search, 400);
  const combinations = every.filter(isTaken);
  const limits = ['20', '100'].map((limit) => ({ limit }));
  // Each with a cursor of its own, that of a row in the middle where the list is in the order of integers or UUIDs.
  const cursors = new Map<object, string | null | undefined>();
  for (const filter of combinations) {
    cursors.set(filter, nextOf(await ask({ ...filter, limit: '1' }))?.searchParams.get('cursor'));
  }
  const queries = combinations.flatMap((filter) => {
    const cursor = cursors.get(filter);
    const places: Record<string, string>[] = cursor ? [{}, { cursor: inTheMiddle(cursor) }] : [{}];
    return places.flatMap((place) => limits.map((limit) => ({ ...filter, ...place, ...limit })));
  });
  return sentDuring(async () => {
    for (const search of queries) await ask(search);
    // Only what has the same parameters can share a statement; all of them at once would be a flood.
    const kinds = Object.groupBy(queries, ({ limit, ...others }) => [limit, ...Object.keys(others)].join());
    for (const kind of Object.values(kinds)) await Promise.all(kind!.map((search) => ask(search)));
  });
}

/** The statements that the service sends while something is asked of it. */
async function sentDuring(work: () => Promise<void>): Promise<Sent[]> {
  const start = readFileSync(recorded, 'utf8').length;
  await work();
  const lines = readFileSync(recorded, 'utf8').slice(start).trim().split('\n');
  return lines.map((line) => JSON.parse(line, reviveBytes) as Sent).filter(isOfTables);
}

/** A cursor of the same list, whose row has the id 15000, or the UUID in the middle of all. */
function inTheMiddle(cursor: string): string {
  const text = Buffer.from(cursor, 'base64url').toString();
  const place = text
    .replace(/(?<=^[\w-]+:)\d+(?=:|$)/, '15000')
    .replace(/(?<=:)[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/, '80000000-0000-4000-8000-000000000000');
  return Buffer.from(place).toString('base64url');
}

const reviveBytes = (_key: string, value: unknown) => {
  const { type, data } = (value ?? {}) as { type?: unknown; data?: number[] };
  return type === 'Buffer' ? Buffer.from(data!) : value;
};

/** Values to filter by: each of an enumeration, else one. */
function valuesOf({ type, format, enum: values }: Schema): string[] {
  if (values) return values;
  if (type === 'array') return [Array.from({ length: 100 }, (_, i) => i * 290 + 1).join()];
  if (type === 'boolean') return ['true', 'false'];
  if (format === 'date-time') return ['2030-01-31T12:00:00Z'];
  if (format === 'date') return ['2030-01-31'];
  if (format === 'uuid') return ['019aa5c2-6f80-7c3e-8f3a-5d2b1c4e6f70'];
  return ['1'];
}

const isOfTables = ({ text }: Sent) =>
  /^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b/.test(text) &&
  tables.some((table) => text.includes(`"${table}"`));

const distinct = (all: Sent[]) => [
  ...new Map(all.map((one) => [one.text + JSON.stringify(one.values), one])).values(),
];

async function run(...all: string[]): Promise<void> {
  for (const sql of all) await query(service.databaseUrl, sql);
}

async function copy(from: number, to: number): Promise<void> {
  for (const sql of copies(from, to)) {
    await query(service.databaseUrl, sql).catch((cause: Error) => {
      const advice = 'Add `rows` to a file test/*.facts.ts: copies of one row cannot be in the table';
      throw new Error(`${advice} ${tableOf(sql)}: ${cause.message}`, { cause });
    });
  }
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
    `INSERT INTO invitations (hash) SELECT sha256(i::text::bytea) FROM ${numbers}`,
    `INSERT INTO messages (id, account_id, message, status)
       SELECT gen_random_uuid(), ${owner}, 'Is Luna there?', 'queued' FROM ${numbers}`,
    `INSERT INTO idempotency_keys (account_id, key, request_hash, body)
       SELECT ${owner}, 'key ' || i, '', '{}' FROM ${numbers}`,
  ];
}

const fillAll = (from: number, to: number) => [...fill(from, to), ...facts.rows(from, to)];

/** The statements of whatever requests do beside lists, with keys and without. */
async function record({ account, key }: Required<Pick<CallOptions, 'account' | 'key'>>): Promise<Sent[]> {
  const ask = (method: string, path: string, body?: object, retryKey?: string) => {
    const headers: Record<string, string> = retryKey ? { 'Idempotency-Key': retryKey } : {};
    return call(service, method, `/v1${path}`, { key, body, headers });
  };
  const free = await query<{ id: string }>(
    service.databaseUrl,
    `SELECT id FROM pets WHERE status = 'available' AND id > 10002 ORDER BY id LIMIT 2`,
  );
  // One that has as many rows as others, and the same password.
  const [other] = await query<{ email: string }>(
    service.databaseUrl,
    'UPDATE accounts SET password_hash = (SELECT password_hash FROM accounts WHERE email = $1) WHERE id = 5 RETURNING email',
    [account.email],
  );
  const manage = (method: string, path: string, body?: object) =>
    call(service, method, `/v1${path}`, { account: { ...account, ...other }, body });
  // The service remembers keys, and looks up those that it has not seen.
  const unseen = await createKey(service, { ...account, ...other });
  return sentDuring(async () => {
    await call(service, 'GET', '/v1/pets/5', { key: unseen });
    const paths = ['5', '6', '7'].flatMap((id) => [`/pets/${id}`, `/categories/${id}`]);
    await Promise.all(paths.map((path) => ask('GET', path)));
    for (const [i, { id: petId }] of free.entries()) {
      const retryKey = i === 0 ? undefined : 'order';
      const place = () => ask('POST', '/store/orders', { petId: Number(petId) }, retryKey);
      const { status, body } = await place();
      expect([status, (await place()).status]).toEqual([201, i === 0 ? 409 : 201]);
      await ask('GET', `/store/orders/${body.id}`);
      for (const _ of [1, 2])
        await ask('PATCH', `/store/orders/${body.id}`, { status: 'cancelled' }, retryKey);
    }
    for (const categoryId of [1, 1, 0])
      await ask('POST', '/pets', { name: 'Luna', categoryId }, `pet-${categoryId}`);
    const { id: messageId } = (await ask('POST', '/messages', { message: 'first' })).body;
    await ask('GET', `/messages/${messageId}`);
    const { id } = (await manage('POST', '/api-keys', { name: 'used' })).body;
    await manage('PATCH', `/api-keys/${id}`, { name: 'renamed', permissions: ['pets:read'] });
    await manage('POST', `/api-keys/${id}/roll`, { overlapSeconds: 60 });
    await manage('DELETE', `/api-keys/${id}`);
    const newcomer = { ...account, email: 'new@example.com', invitation: newSecret(INVITATIONS) };
    await call(service, 'POST', '/v1/accounts', { body: newcomer });
    await manage('DELETE', '/accounts/current');
  });
}

/** The statements whose plan costs more the more rows there are, each with what is wrong; for a list, one stands for all. */
async function faults(): Promise<string[]> {
  const found = new Map<string, string>();
  for (const mode of MODES) {
    const all = mode === 'force_custom_plan' ? statements : distinctTexts();
    for (const statement of all) {
      const wrong = await planner.faultsOf(statement, mode);
      if (wrong.length === 0) continue;
      const { text, values } = statement;
      const advice = await planner.adviceFor(statement);
      const fault = `${advice}${mode}: ${wrong.join()}: ${text} ${JSON.stringify(values)}`;
      found.set(advice ? `${advice}${mode}: ${wrong.join()}` : fault, fault);
    }
  }
  return [...found.values()];
}

/** A generic plan does not depend on the values. */
const distinctTexts = () => [...new Map(statements.map((one) => [one.text, one])).values()];

test('The examined statements are those of every list, and of all other work of the features', () => {
  const texts = distinctTexts().map(({ text }) => text);
  const filled = fill(1, 1).map(tableOf);
  const counts = {
    unseen: lists.filter((one) => !ofLists.get(one.operation.operationId)?.length),
    placing: texts.filter((text) => /UPDATE "pets" .*INSERT INTO "orders"/s.test(text)).length,
    submitting: texts.filter((text) => /INSERT INTO "messages".*pgboss/s.test(text)).length,
    locking: texts.filter((text) => text.includes('FOR UPDATE')).length,
    unread: filled.filter((table) => !texts.some((text) => text.includes(`"${table}"`))),
  };
  // With a key and without.
  expect(counts).toEqual({ unseen: [], placing: 2, submitting: 1, locking: 2, unread: [] });
});

test('Every table has rows: those that no example fills get theirs by `rows` of the facts of their feature', async () => {
  const rows = (table: string) => query(service.databaseUrl, `SELECT FROM ${table} LIMIT 1`);
  const counts = await Promise.all(tables.map(async (table) => [table, (await rows(table)).length]));
  expect(counts.filter(([, count]) => count === 0)).toEqual([]);
});

test('Outdated statistics of a table that has grown make no statement scan or sort it', async () => {
  expect(await faults()).toEqual([]);
});

test('Fresh statistics make no statement scan or sort a table, whatever is rare in it', async () => {
  await run(...tables.map((table) => `VACUUM ANALYZE ${table}`));
  expect(await faults()).toEqual([]);
});

test('No statement is planned anew at each run, however few values a list has', async () => {
  const found: string[] = [];
  for (const statement of statements) {
    if (await planner.isPlannedAnew(statement)) found.push(statement.text);
  }
  expect([...new Set(found)]).toEqual([]);
});

// The planner then assumes that a value has few rows, and may sort those of two, until autovacuum has run.
test('Without statistics no statement scans a table, or sorts more than an index has found', async () => {
  await run(
    ...tables.map((table) => `SELECT pg_clear_relation_stats('public', '${table}')`),
    `SELECT pg_clear_attribute_stats(schemaname::text, tablename::text, attname::text, inherited) FROM pg_stats
     WHERE schemaname = 'public'`,
  );
  const found = await faults();
  // Where the index is there that would do.
  const isSortOfFound = /^PostgreSQL does not use the index .*plan: sorts \w+: .*"\w+" = .*\) >/;
  expect(found.filter((fault) => !isSortOfFound.test(fault))).toEqual([]);
});

test.each([
  ['DROP INDEX pets_status_id_idx', 'pets'],
  ['DROP INDEX pets_category_id_id_idx', 'pets'],
  ['DROP INDEX pets_status_category_id_id_idx', 'pets'],
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
