import { randomUUID } from 'node:crypto';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Body, Controller, Logger, Post } from '@nestjs/common';
import { Column, DataSource, Entity, PrimaryGeneratedColumn, QueryFailedError } from 'typeorm';
import { Config } from '../../src/config.js';
import { Pet, PetStatus } from '../../src/pets/pet.entity.js';
import { Order, OrderStatus } from '../../src/store/order.entity.js';
import { FastRepository } from '../../src/platform/data/fast-repository.js';
import { Int64Field, TextField } from '../../src/platform/api/fields.js';
import { Operation, Tag } from '../../src/platform/api/operation.js';
import { Transactions } from '../../src/platform/data/transactions.js';
import { isUnavailable } from '../../src/platform/database/unavailable.js';
import { ApiError } from '../../src/platform/api/api-error.js';
import { By, type Caller } from '../../src/platform/api/request.js';
import { AuditLog, Idempotent } from '../../src/platform/safeguards/index.js';
import { PetDto } from '../../src/pets/pet.dto.js';
import { poolOptions } from '../../src/platform/database/connection-options.js';
import { DeadlineClient } from '../../src/platform/database/deadline-client.js';
import { TIMEOUTS } from '../../src/platform/database/session-settings.js';
import { call, createKey } from '../../src/testing/client.js';
import { Customer, times } from '../support/customer.js';
import { connect } from '../support/database.js';
import { type Extended, startExtended } from '../support/extended.js';
import { Proxy } from '../support/proxy.js';
import { createDatabase, cutOff, query, type Service, startService } from '../../src/testing/service.js';

class VisitDto {
  @Int64Field({ description: 'Animal.' })
  petId!: string;
}

class StatusDto {
  @Int64Field({ description: 'Which.' })
  id!: string;

  @TextField({ description: 'Status.', max: 100 })
  status!: string | null;
}

class TextDto {
  @TextField({ description: 'Text.', max: 100 })
  text!: string;
}

@Entity('documents')
class Document {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('text')
  text!: string;
}

/** Characters of a row that is too large to share a statement. */
const LARGE = 1_000_000;

/** A feature as the guide has it: a visit is written while its animal is held. */
@Tag('pets', 'Visits.')
@Controller()
class VisitsController {
  private readonly pets: FastRepository<Pet>;
  private readonly orders: FastRepository<Order>;
  private readonly documents: Promise<FastRepository<Document>>;

  constructor(
    private readonly transactions: Transactions,
    private readonly database: DataSource,
    private readonly audit: AuditLog,
  ) {
    this.pets = new FastRepository(Pet, database.manager);
    this.orders = new FastRepository(Order, database.manager);
    const options = { ...database.options, entities: [Document] };
    this.documents = new DataSource(options)
      .initialize()
      .then(({ manager }) => new FastRepository(Document, manager));
  }

  @Post('visits')
  @Operation({ id: 'addVisit', summary: 'Add', returns: VisitDto })
  add(@Body() { petId }: VisitDto): Promise<VisitDto> {
    return this.transactions.run(async (own) => {
      await this.pets.changeRow({ id: petId }, 'pet_not_found', () => {});
      await own.query('INSERT INTO visits (pet_id) VALUES ($1)', [petId]);
      return { petId };
    });
  }

  /** Another way, with a statement of TypeORM's own inside, which takes a connection of its own. */
  @Post('visits-beside')
  @Operation({ id: 'addVisitBeside', summary: 'Add', returns: VisitDto })
  beside(@Body() { petId }: VisitDto): Promise<VisitDto> {
    return this.transactions.run(async (own) => {
      await own.query('INSERT INTO visits (pet_id) VALUES ($1)', [petId]);
      await this.database.getRepository(Pet).findOneByOrFail({ id: petId });
      return { petId };
    });
  }

  /** Says that it writes one row, and asks for more. */
  @Post('asking-more')
  @Idempotent({ writesRow: true })
  @Operation({ id: 'addAskingMore', summary: 'Add', returns: PetDto })
  async askingMore(@Body() { petId }: VisitDto): Promise<PetDto> {
    const { name } = await this.pets.getRow({ id: petId }, 'pet_not_found');
    return this.pets.addRow({ name: `${name} II`, categoryId: '1' });
  }

  /** Uses the id of a row before there is one. */
  @Post('using-drafts')
  @Idempotent({ writesRow: true })
  @Operation({ id: 'addUsingDrafts', summary: 'Add', returns: PetDto })
  usingDrafts(@Body() { petId }: VisitDto, @By() by: Caller): Promise<PetDto> {
    return this.pets.addRow({ name: 'Rex', categoryId: '1' }, ({ id }) =>
      this.audit.add({ by, action: 'pet.added', subjectId: String(id), details: { beside: petId } }),
    );
  }

  @Post('statuses-of-pets')
  @Idempotent({ writesRow: true })
  @Operation({ id: 'setStatusOfPet', summary: 'Set', returns: StatusDto })
  setOfPet(@Body() { petId: id }: VisitDto): Promise<StatusDto> {
    return this.pets.changeRow({ id }, 'pet_not_found', (pet) => (pet.status = PetStatus.Sold));
  }

  @Post('statuses-of-orders')
  @Idempotent({ writesRow: true })
  @Operation({ id: 'setStatusOfOrder', summary: 'Set', returns: StatusDto })
  setOfOrder(@Body() { petId: id }: VisitDto): Promise<StatusDto> {
    return this.orders.changeRow({ id }, 'pet_not_found', (order) => (order.status = OrderStatus.Approved));
  }

  @Post('leaving-out')
  @Idempotent({ writesRow: true })
  @Operation({ id: 'addLeavingOut', summary: 'Add', returns: StatusDto })
  leavingOut(): Promise<StatusDto> {
    return this.pets.addRow({ name: 'Rex', categoryId: '1' });
  }

  /** Writes what belongs to a row after it, where it can no longer be a part of the statement. */
  @Post('asking-late')
  @Idempotent({ writesRow: true })
  @Operation({ id: 'addAskingLate', summary: 'Add', returns: PetDto })
  async askingLate(@Body() { petId }: VisitDto, @By() by: Caller): Promise<PetDto> {
    const pet = await this.pets.addRow({ name: `late ${petId}`, categoryId: '1', status: null });
    await this.audit.add({ by, action: 'pet.added', subjectId: pet.id });
    return pet;
  }

  /** What belongs to the row fails. */
  @Post('failing-along')
  @Operation({ id: 'addFailingAlong', summary: 'Add', returns: PetDto })
  failingAlong(@Body() { petId }: VisitDto): Promise<PetDto> {
    return this.pets.addRow({ name: `beside ${petId}`, categoryId: '1' }, () => {
      throw new ApiError('pet_not_available');
    });
  }

  @Post('documents')
  @Operation({ id: 'addDocument', summary: 'Add', returns: TextDto })
  async addDocument(@Body() { text }: TextDto): Promise<TextDto> {
    const documents = await this.documents;
    const stored = await documents.addRow({ text: text.repeat(LARGE) });
    return { text: stored.text.slice(-1) };
  }

  async onApplicationShutdown(): Promise<void> {
    await (await this.documents).manager.dataSource.destroy();
  }
}

let service: Service;
let extended: Extended;
let key: string;

/** Once a minute, whichever test comes first. */
let warn: jest.SpiedFunction<Logger['warn']>;
beforeAll(async () => {
  warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => {});
  service = await startService();
  key = await createKey(service);
  await query(service.databaseUrl, 'CREATE TABLE visits (id serial, pet_id bigint)');
  await query(
    service.databaseUrl,
    'CREATE TABLE documents (id bigint PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY, text text NOT NULL)',
  );
  extended = await startExtended(service.databaseUrl, VisitsController);
});
afterAll(async () => {
  warn.mockRestore();
  await extended?.stop();
  await service?.stop();
});

/** How often each status is answered to requests that come at the same time. */
async function statuses(count: number, path: string, body: object): Promise<Record<number, number>> {
  const answers = await times(count, () =>
    fetch(`${extended.url}/v1${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    }),
  );
  return countBy(answers.map(({ status }) => status));
}

function countBy(all: readonly number[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const one of all) counts[one] = (counts[one] ?? 0) + 1;
  return counts;
}

const addPet = async () => {
  const body = { name: 'Rex', categoryId: 1, status: 'available' };
  return (await call(service, 'POST', '/v1/pets', { key, body })).body.id as number;
};

/** Has PostgreSQL run PL/pgSQL before each row of a table is inserted, while `run` runs. */
async function withTrigger(table: string, body: string, run: () => Promise<void>): Promise<void> {
  await query(
    service.databaseUrl,
    `CREATE FUNCTION before_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} RETURN NEW; END $$;
     CREATE TRIGGER before_insert BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION before_insert()`,
  );
  await run().finally(() => query(service.databaseUrl, 'DROP FUNCTION before_insert CASCADE'));
}

describe('Transactions of one client that come at the same time', () => {
  test('and want one row are all made, also when the last of them waits for more than a second', async () => {
    const petId = await addPet();
    const begin = performance.now();
    await withTrigger('visits', 'PERFORM pg_sleep(0.012);', async () => {
      expect(await statuses(100, '/visits', { petId })).toEqual({ 200: 100 });
    });
    expect(performance.now() - begin).toBeGreaterThan(1_200);
  });

  test("are made although each calls a statement of TypeORM's own, of which the log says where", async () => {
    const petId = await addPet();
    expect(await statuses(50, '/visits-beside', { petId })).toEqual({ 200: 50 });
    expect(warn.mock.calls).toContainEqual([expect.stringMatching(/is no part of the transaction/)]);
  });

  test('are refused by name where the pool could never give a second connection', async () => {
    const config = Object.assign(new Config(), {
      DATABASE_URL: service.databaseUrl,
      DATABASE_POOL_SIZE: 1,
    });
    const database = await new DataSource({ ...poolOptions(config), entities: [] }).initialize();
    const begin = performance.now();
    const asked = Transactions.of(database).run(() => database.query('SELECT 1'));
    await expect(asked).rejects.toThrow(
      'has the only connection, and a statement beside it asks for another',
    );
    expect(performance.now() - begin).toBeLessThan(500);
    await database.destroy();
  });
});

test('Rows that a trigger leaves out are refused, and each of the others is there once', async () => {
  const named = (i: number) => `${i % 50 === 7 ? 'left out' : 'kept'} ${i}`;
  await withTrigger('pets', `IF NEW.name LIKE 'left out %' THEN RETURN NULL; END IF;`, async () => {
    const answers = await times(200, (i) =>
      call(service, 'POST', '/v1/pets', { key, body: { name: named(i), categoryId: 1 } }),
    );
    expect(answers.map(({ status }) => status)).toEqual(
      answers.map((_one, i) => (named(i).startsWith('kept') ? 201 : 500)),
    );
  });
  const stored = await query<{ name: string }>(
    service.databaseUrl,
    `SELECT name FROM pets WHERE name ~ '^(kept|left out) '`,
  );
  const kept = Array.from({ length: 200 }, (_, i) => named(i)).filter((name) => name.startsWith('kept'));
  expect(stored.map(({ name }) => name).toSorted()).toEqual(kept.toSorted());
});

test('Rows of which a trigger refuses one are refused alone', async () => {
  await withTrigger('pets', `IF NEW.name = 'bad' THEN RAISE 'no'; END IF;`, async () => {
    const answers = await times(60, (i) =>
      call(service, 'POST', '/v1/pets', {
        key,
        body: { name: i % 20 === 3 ? 'bad' : 'good', categoryId: 1 },
      }),
    );
    expect(countBy(answers.map(({ status }) => status))).toEqual({ 201: 57, 500: 3 });
  });
});

describe('Rows of many bytes', () => {
  test('are all added when they come at the same time', async () => {
    expect(await statuses(20, '/documents', { text: 'x' })).toEqual({ 200: 20 });
  });

  test('share statements of a bounded size, and go alone when they are too large for company', async () => {
    const { database, sent } = await connect(service.databaseUrl, { entities: [Document] });
    const documents = new FastRepository(Document, database.manager);
    await documents.addRow({ text: 'first' });
    sent.length = 0;
    await times(50, () => documents.addRow({ text: 'x'.repeat(100_000) }));
    const bytes = sent.map(({ values }) => JSON.stringify(values).length);
    expect(Math.max(...bytes)).toBeLessThan(1_200_000);
    expect(sent.length).toBeLessThan(25);
    sent.length = 0;
    const stored = await times(5, () => documents.addRow({ text: 'x'.repeat(200_000) }));
    const inserts = sent.filter(({ text }) => text.includes('INSERT'));
    expect(inserts.map(({ text }) => /unnest/.test(text))).toEqual(Array(5).fill(false));
    const ids = [
      ...stored.map(({ id }) => id),
      ...(await times(30, () => documents.addRow({ text: 'x'.repeat(100_000) }))).map(({ id }) => id),
    ];
    await times(ids.length, (i) => documents.findRow({ id: ids[i]! }));
    sent.length = 0;
    // Their size is known from the last ones.
    await times(ids.length, (i) => documents.findRow({ id: ids[i]! }));
    expect(sent.length).toBeGreaterThan(3);
    await database.destroy();
  });
});

/** What a client writes, all of it with a key; and how often each is there in the end. */
async function writeAll(customer: Customer, marker: string) {
  const header = () => ({ 'Idempotency-Key': randomUUID() });
  const body = { name: marker, categoryId: 1, status: 'available' };
  const pet = await call(service, 'POST', '/v1/pets', { key: customer.key, body, headers: header() });
  const message = { message: marker };
  return [
    pet,
    await call(service, 'POST', '/v1/messages', { key: customer.key, body: message, headers: header() }),
  ];
}

test('A method that says of itself that it writes one row, and does more, is done and answered all the same', async () => {
  const petId = await addPet();
  const ask = (path: string, retryKey: string) =>
    fetch(`${extended.url}/v1${path}`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${key}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': retryKey,
      },
      body: JSON.stringify({ petId }),
    });
  for (const path of ['/asking-more', '/using-drafts', '/asking-late'].flatMap((one) => [one, one])) {
    const retryKey = randomUUID();
    const [first, again] = [await ask(path, retryKey), await ask(path, retryKey)];
    const text = await first.text();
    expect([first.status, again.status, again.headers.get('idempotency-replayed')]).toEqual([
      200,
      200,
      'true',
    ]);
    expect(await again.text()).toBe(text);
    const { id, name } = JSON.parse(text) as { id: number; name: string };
    const names = { '/asking-more': 'Rex II', '/asking-late': `late ${petId}` };
    expect(name).toBe(names[path as keyof typeof names] ?? 'Rex');
    const records = await query(service.databaseUrl, `SELECT FROM audit_log WHERE subject_id = $1`, [
      String(id),
    ]);
    expect(records).toHaveLength(path === '/asking-more' ? 0 : 1);
  }
  expect(warn.mock.calls).toContainEqual([expect.stringMatching(/`writesRow`.*addAskingMore/)]);
});

test('A row whose optional values are left out is written with its answer by one statement', async () => {
  const begin = jest.spyOn(DeadlineClient.prototype, 'beginBy');
  const ask = async (retryKey: string) => {
    begin.mockClear();
    const headers = {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': retryKey,
    };
    const answer = await fetch(`${extended.url}/v1/leaving-out`, { method: 'POST', headers, body: '{}' });
    return { text: await answer.text(), transactions: begin.mock.calls.length };
  };
  expect(await ask(randomUUID())).toEqual({ text: expect.stringMatching(/^."id":/), transactions: 1 });
  const retryKey = randomUUID();
  const added = await ask(retryKey);
  expect(added.transactions).toBe(0);
  expect(added.text).toMatch(/^\{"id":\d+\}$/);
  expect(await ask(retryKey)).toEqual(added);
  begin.mockRestore();
});

test('Two tables that are answered with one class are each written themselves', async () => {
  const customer = await Customer.of(service);
  const set = (path: string, id: number) =>
    fetch(`${extended.url}/v1${path}`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${key}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': randomUUID(),
      },
      body: JSON.stringify({ petId: id }),
    }).then((answer) => answer.json());
  // The first one of each process is done in a transaction.
  for (let i = 0; i < 2; i++) {
    const [petId, { id }] = [await addPet(), await customer.orderAt('placed')];
    expect(await set('/statuses-of-pets', petId)).toEqual({ id: petId, status: 'sold' });
    expect(await set('/statuses-of-orders', id)).toEqual({ id, status: 'approved' });
    const [order] = await query(service.databaseUrl, 'SELECT status FROM orders WHERE id = $1', [id]);
    expect(order).toEqual({ status: 'approved' });
    // Nobody has recorded that.
    await query(service.databaseUrl, `UPDATE orders SET status = 'placed' WHERE id = $1`, [id]);
  }
});

test('A row is not there if what belongs to it fails', async () => {
  const petId = await addPet();
  expect(await statuses(1, '/failing-along', { petId })).toEqual({ 409: 1 });
  expect(await query(service.databaseUrl, 'SELECT FROM pets WHERE name = $1', [`beside ${petId}`])).toEqual(
    [],
  );
});

describe('A transaction that cannot begin', () => {
  let proxy: Proxy;
  let behind: Service;
  beforeAll(async () => {
    proxy = await Proxy.start(service.databaseUrl);
    behind = await startService({ DATABASE_URL: proxy.url });
  });
  afterAll(async () => {
    await behind?.stop();
    proxy?.stop();
  });

  test('changes nothing, whatever was to be done in it, and is told to try again', async () => {
    const customer = await Customer.of(behind);
    const order = await customer.orderAt('placed');
    const petId = await customer.addPet('available');
    const rows = () =>
      query(
        service.databaseUrl,
        `SELECT (SELECT json_agg(p ORDER BY id) FROM pets p WHERE id >= $1) AS pets,
           (SELECT json_agg(o ORDER BY id) FROM orders o) AS orders, (SELECT count(*) FROM messages) AS messages,
           (SELECT count(*) FROM audit_log) AS audited, (SELECT count(*) FROM idempotency_keys) AS keys,
           (SELECT count(*) FROM pgboss.job) AS jobs`,
        [order.petId],
      );
    const before = await rows();
    // What the server gets is no SQL.
    proxy.alter('START TRANSACTION', 'START TRANSACTIOM');
    const headers = () => ({ 'Idempotency-Key': randomUUID() });
    const asked = (method: string, path: string, body: object) =>
      call(behind, method, `/v1${path}`, { key: customer.key, body, headers: headers() });
    const answers = await Promise.all([
      asked('POST', '/store/orders', { petId }),
      asked('POST', '/messages', { message: 'hello' }),
      asked('PATCH', `/store/orders/${order.id}`, { status: 'cancelled' }),
      customer.move(order.id, 'approved'),
    ]);
    proxy.alter();
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 503));
    expect(await rows()).toEqual(before);
    expect((await customer.place(petId)).status).toBe(201);
  });
});

test('Statements and connections that are cut off at any moment leave no write half made, and answer no 500', async () => {
  const customer = await Customer.of(service);
  const marker = `cut ${randomUUID()}`;
  const orders = await times(40, () => customer.orderAt('placed'));
  const seen: { status: number; made?: string | number }[] = [];
  const over = new AbortController();
  const clients = times(12, async (i) => {
    while (!over.signal.aborted) {
      for (const { status, body } of await writeAll(customer, marker)) seen.push({ status, made: body.id });
      const placed = await customer.post({ petId: await petOf(customer) });
      seen.push({ status: placed.status });
      const moved = await customer.move(orders[i % orders.length]!.id, 'approved');
      // Whoever tries again finds what was done.
      seen.push({ status: moved.status === 409 ? 200 : moved.status });
    }
  });
  for (let i = 0; i < 80; i++) {
    await sleep(50);
    await cutOff(service, i % 4 === 0 ? 'pg_terminate_backend' : 'pg_cancel_backend', 1);
    // Also those that do nothing, as when the server is restarted.
    if (i % 10 === 9)
      await query(
        service.databaseUrl,
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      );
  }
  over.abort();
  await clients;
  const counts = countBy(seen.map(({ status }) => status));
  expect(Object.keys(counts).filter((status) => !['200', '201', '202', '503'].includes(status))).toEqual([]);
  expect(counts[503]).toBeGreaterThan(0);
  const acknowledged = seen.flatMap(({ status, made }) => (status < 300 && made ? [`${made}`] : []));
  const stored = await query<{ id: string }>(
    service.databaseUrl,
    `SELECT id::text FROM pets WHERE name = $1 UNION ALL SELECT id::text FROM messages WHERE message = $1`,
    [marker],
  );
  const ids = new Set(stored.map(({ id }) => id));
  expect(acknowledged.filter((id) => !ids.has(id))).toEqual([]);
  const [wrong] = await query<Record<string, string>>(
    service.databaseUrl,
    `SELECT (SELECT count(*) FROM orders o WHERE NOT EXISTS (
         SELECT FROM audit_log WHERE action = 'order.' || o.status AND subject_id = o.id::text)) AS unaudited,
       (SELECT count(*) FROM orders o JOIN pets p ON p.id = o.pet_id
         WHERE o.status IN ('placed', 'approved') AND p.status IS DISTINCT FROM 'pending') AS torn,
       (SELECT count(*) FROM pets p WHERE status = 'pending' AND NOT EXISTS (
         SELECT FROM orders WHERE pet_id = p.id AND status IN ('placed', 'approved'))) AS lost,
       (SELECT count(*) FROM messages m WHERE NOT EXISTS (
         SELECT FROM pgboss.job WHERE data #>> '{payload}' IS NULL AND id = m.id)) AS jobless`,
  );
  expect(wrong).toEqual({ unaudited: '0', torn: '0', lost: '0', jobless: '0' });
});

/** The id of a new animal, whatever happens to the statements that make it. */
async function petOf(customer: Customer): Promise<number> {
  for (;;) {
    const id = await customer.addPet('available').catch(() => undefined);
    if (id !== undefined) return id;
  }
}

test.each([
  ...[
    'EPROTO',
    'ENETDOWN',
    'EHOSTDOWN',
    'ENETRESET',
    'ECONNRESET',
    'EHOSTUNREACH',
    'EADDRNOTAVAIL',
    'EAI_AGAIN',
  ],
  ...[
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'CERT_HAS_EXPIRED',
    'ERR_STREAM_DESTROYED',
  ],
  ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
])('A database that is cut off with %s is one to try again', (code) => {
  const cause = Object.assign(new Error('cut off'), { code });
  expect(isUnavailable(cause)).toBe(true);
  expect(isUnavailable(new QueryFailedError('SELECT 1', [], cause))).toBe(true);
});

test.each(['EACCES', 'ENOSPC', 'ERR_INVALID_ARG_TYPE', '42601'])('A failure with %s is a bug', (code) => {
  expect(isUnavailable(Object.assign(new Error('wrong'), { code }))).toBe(false);
});

test('A turn of the event loop that took long is not mistaken for a database that has fallen silent', async () => {
  const client = new DeadlineClient({ connectionString: await createDatabase() });
  await client.connect();
  const answers = Promise.allSettled([client.query('SELECT pg_sleep(0.2)'), client.query('SELECT 1 AS one')]);
  await sleep(50);
  // After this, timers come before whatever has arrived.
  await setImmediate();
  for (const end = performance.now() + TIMEOUTS.silence + 300; performance.now() < end;);
  expect((await answers).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  // What is asked for just when an idle connection has been silent for that long is answered.
  const asked = new Promise((resolve) =>
    client.connection.stream.once('timeout', () => resolve(client.query('SELECT pg_sleep(0.1)'))),
  );
  await expect(asked).resolves.toBeDefined();
  // It goes on being measured.
  const silent = client.query(`SELECT pg_sleep(${(TIMEOUTS.silence + 1_000) / 1_000})`);
  await expect(silent).rejects.toThrow('fallen silent');
});
