import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  call,
  createAccount,
  createKey,
  type Credentials,
  expectError,
  TIMESTAMP,
} from '../src/testing/client.js';
import { expectRevoked } from './support/revoked.js';
import { createDatabase, query, sharedService, startService } from '../src/testing/service.js';
import { admin, migrate } from './support/commands.js';
import { Customer } from './support/customer.js';
import {
  endRuns,
  eventually,
  newFolder,
  nodeStart,
  postgresOn,
  removeFolders,
  ROOT,
  runNode,
} from './support/npm.js';
import { hasPsql, psql } from './support/psql.js';
import { Receiver } from './support/receiver.js';

/** The commands that operators paste, tested exactly as documented. */
const OPERATING = readFileSync(`${ROOT}/docs/operating.md`, 'utf8');
const ADMIN = ['dist/src/commands/petstore.js', 'admin'];

const service = sharedService();
const DATABASE = { DATABASE_URL: service.databaseUrl };
afterEach(endRuns);
afterAll(removeFolders);

const run = (args: string[], input = '') => admin(args, DATABASE, input);

/** Runs it with `--json`, and returns what it has printed. */
async function json(args: string[], input = '') {
  const { code, stdout, stderr } = await run([...args, '--json'], input);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

const parsed = (text: string) => Array.from(text.matchAll(/.+/g), ([line]) => JSON.parse(line));

describe('A process of its own', () => {
  test('takes a password from standard input, and ends with 0', async () => {
    const account = { email: `${randomUUID()}@Example.com`, password: 'correct horse battery' };
    const input = `${account.password}\n`;
    const options = { env: DATABASE, input };
    const args = [...ADMIN, 'accounts', 'create', account.email, '--json'];
    const { code, stdout, stderr } = await runNode(args, options);
    expect([code, stderr]).toEqual([0, '']);
    const { email } = account;
    const createdAt = expect.stringMatching(TIMESTAMP);
    expect(JSON.parse(stdout)).toEqual({ id: expect.any(Number), email, createdAt });
    expect((await call(service, 'GET', '/v1/api-keys', { account })).status).toBe(200);
  });

  test.each<[number, string, RegExp]>([
    [2, 'wrong usage', /unknown command 'wrong'/],
    [1, 'keys list nobody@example.com', /^petstore: There is no account "nobody@example.com"\.\n$/],
  ])('ends with %i after %s, and says why', async (code, line, why) => {
    const ended = await runNode([...ADMIN, ...line.split(' ')], { env: DATABASE });
    expect(ended).toEqual({ code, stdout: '', stderr: expect.stringMatching(why) });
  });

  test('lists 200,000 accounts, each once, in little memory', async () => {
    const env = { DATABASE_URL: await createDatabase('TEMPLATE migrated') };
    expect((await admin(['accounts', 'list'], env)).stdout).toBe('None.\n');
    expect((await admin(['accounts', 'list', '--json'], env)).stdout).toBe('[]\n');
    await query(
      env.DATABASE_URL,
      `INSERT INTO accounts (email, password_hash) SELECT n || '@example.com', '-' FROM generate_series(1, 200000) n`,
    );
    const heap = '--max-old-space-size=128';
    const { code, stdout, stderr } = await runNode([heap, ...ADMIN, 'accounts', 'list'], { env });
    expect([code, stderr]).toEqual([0, '']);
    const [head, ...lines] = stdout.trim().split('\n');
    expect(head).toMatch(/^id +email +createdAt +issuer +subject$/);
    expect(new Set(lines.map((line) => line.split(/ +/)[1])).size).toBe(200_000);
  });
});

test('An account accepts a new password, typed or generated, and no longer the old one', async () => {
  const old = await createAccount(service);
  const { email } = old;
  const key = await createKey(service, old);
  const password = 'another fine horse';
  await run(['accounts', 'set-password', email], password);
  const get = (account: Credentials) => call(service, 'GET', '/v1/api-keys', { account });
  expect((await get({ email, password })).status).toBe(200);
  expectError(await get(old), 401, 'invalid_credentials');
  const generated = await json(['accounts', 'set-password', email, '--generate-password']);
  expect((await get(generated)).status).toBe(200);
  expect((await call(service, 'GET', '/v1/pets', { key })).status).toBe(200);
});

describe('An export', () => {
  const exported = async (email: string) => {
    const { code, stdout, stderr } = await run(['accounts', 'export', email]);
    expect([code, stderr]).toEqual([0, '']);
    return parsed(stdout) as { table: string; row: Record<string, unknown> }[];
  };

  test('has all rows of the account, without secrets, and no row of another account', async () => {
    const account = await createAccount(service);
    const customer = await Customer.of(service, account);
    const order = await customer.orderAt('placed');
    const message = { message: 'Is Luna there?' };
    await call(service, 'POST', '/v1/messages', { key: customer.key, body: message });
    await (await Customer.of(service)).orderAt('placed');
    const lines = await exported(account.email);
    const rowsOf = (table: string) => lines.filter((line) => line.table === table).map(({ row }) => row);
    const { id, email } = account;
    expect(rowsOf('accounts')).toEqual([
      { id, email, created_at: expect.any(String), permissions: null, closed_at: null },
    ]);
    expect(rowsOf('orders')).toMatchObject([{ id: order.id, account_id: id, status: 'placed' }]);
    expect(rowsOf('messages')).toMatchObject([message]);
    expect(rowsOf('api_keys')).toMatchObject([{ name: 'test' }]);
    expect(rowsOf('api_keys')[0]).not.toHaveProperty('hash');
    expect(new Set(lines.flatMap(({ row }) => row.account_id ?? []))).toEqual(new Set([id]));
    expect(JSON.stringify(lines)).not.toMatch(/password|argon2/);
  });

  test('has bytes as base64 and other values unchanged, and omits columns that are declared secret', async () => {
    const { id, email } = await createAccount(service);
    const content = Buffer.from(Array.from({ length: 300 }, (_, i) => i % 256));
    await query(
      service.databaseUrl,
      `CREATE TABLE "Photos '\\" (id bigint, account_id bigint, "a ""name" text, content bytea, facts jsonb, pin bytea, code text, r text, note json);
       COMMENT ON COLUMN "Photos '\\".pin IS 'secret';
       COMMENT ON COLUMN "Photos '\\".code IS 'secret: of the door'`,
    );
    await query(
      service.databaseUrl,
      `INSERT INTO "Photos '\\" VALUES (9223372036854775807, $1, 'x', $2, '{"n": null}', '\\x00', 'c', 'r', E'{\n"a": "b\\\\n"\r\n}'), (1, 0, '', '', '{}', '', '', '', '{}')`,
      [id, content],
    );
    const { stdout } = await run(['accounts', 'export', email]);
    await query(service.databaseUrl, `DROP TABLE "Photos '\\"`);
    expect(stdout).toContain('"id":9223372036854775807');
    expect(parsed(stdout).find(({ table }) => table.startsWith('Photos'))).toEqual({
      table: `Photos '\\`,
      row: {
        id: expect.any(Number),
        account_id: id,
        'a "name': 'x',
        content: content.toString('base64'),
        facts: { n: null },
        r: 'r',
        note: { a: 'b\n' },
      },
    });
  });
});

describe('Keys', () => {
  test('that are created work, are listed without their value, and are refused within a second of being revoked', async () => {
    const { email } = await createAccount(service);
    const expiresAt = '2100-01-31T12:00:00.000Z';
    const till = ['--name', 'Till', '--expires-at', expiresAt];
    const { key, ...told } = await json(['keys', 'create', email, ...till]);
    expect(told).toEqual({
      id: expect.any(Number),
      name: 'Till',
      permissions: expect.arrayContaining(['pets:read', 'orders:manage']),
      createdAt: expect.stringMatching(TIMESTAMP),
      expiresAt,
    });
    expect((await call(service, 'GET', '/v1/pets', { key })).status).toBe(200);
    // The use of a key is noted beside the request.
    await eventually(async () => (await json(['keys', 'list', email]))[0].lastUsedAt !== undefined);
    expect(await json(['keys', 'list', email])).toEqual([{ ...told, lastUsedAt: expect.any(String) }]);
    // So that the service has just seen it.
    expect((await call(service, 'GET', '/v1/pets', { key })).status).toBe(200);
    const { stdout } = await run(['keys', 'revoke', email, String(told.id)]);
    expect(stdout).toBe(`Key ${told.id} is revoked.\n`);
    await expectRevoked(async () => [await call(service, 'GET', '/v1/pets', { key })]);
    expect(await json(['keys', 'list', email])).toEqual([]);
  });

  test('have the permissions that the operator sets, and within a second at most those of their account', async () => {
    const account = await createAccount(service);
    const reader = ['--name', 'x', '--permissions', 'pets:read'];
    const { key } = await json(['keys', 'create', account.email, ...reader]);
    const add = () => call(service, 'POST', '/v1/pets', { key, body: '{' });
    expectError(await add(), 403, 'permission_denied');
    const all = await createKey(service, account);
    const list = (one: string) => call(service, 'GET', '/v1/pets', { key: one });
    for (const one of [key, all]) expect((await list(one)).status).toBe(200);
    const set = (permissions: string) => run(['accounts', 'set-permissions', account.email, permissions]);
    expect(await set('orders:read,orders:write')).toMatchObject({
      stdout: `Keys of "${account.email}" may do: orders:read, orders:write.\n`,
    });
    await expectRevoked(() => Promise.all([list(key), list(all)]));
    expect((await call(service, 'GET', '/v1/store/orders', { key: all })).status).toBe(200);
    const shown = await call(service, 'GET', '/v1/accounts/current', { account });
    expect(shown.body.permissions).toEqual(['orders:read', 'orders:write']);
    expect(await set('all')).toMatchObject({ code: 0 });
    await eventually(async () => (await list(all)).status === 200);
  });
});

test('Invitations are listed without their code, until they are revoked', async () => {
  const expiresAt = '2100-01-31T12:00:00.000Z';
  const create = (...args: string[]) => json(['invitations', 'create', ...args]);
  const made = [await create(), await create('--expires-at', expiresAt)];
  const shown = made.map(({ invitation: _code, ...rest }) => rest);
  const told = { id: expect.any(Number), createdAt: expect.stringMatching(TIMESTAMP) };
  expect(shown).toEqual([told, { ...told, expiresAt }]);
  // Others may be those of other tests.
  const listed = async () => {
    const all: { id: number }[] = await json(['invitations', 'list']);
    return all.filter(({ id }) => shown.some((one) => one.id === id));
  };
  expect(await listed()).toEqual(shown);
  const revoke = () => run(['invitations', 'revoke', String(shown[0]!.id)]);
  expect(await revoke()).toMatchObject({ code: 0, stdout: `Invitation ${shown[0]!.id} is revoked.\n` });
  expect(await listed()).toEqual([shown[1]]);
  expect(await revoke()).toMatchObject({ code: 1 });
});

describe('A command that fails', () => {
  test.each<[number, string, RegExp]>([
    [2, 'accounts list more', /too many arguments/],
    [2, 'keys create a@b.example', /'--name <name>' not specified/],
    [2, 'keys revoke a@b.example 1e3', /Must be a 64-bit integer/],
    [2, 'accounts set-permissions a@b.example pets:fly', /Must be "all", or some of pets:read, /],
    [2, 'invitations create --expires-at 2020-01-31T12:00:00Z', /Must be a time in the future/],
    [1, 'accounts create x --generate-password', /^petstore: email must be an email/],
    [1, 'accounts create x@example.com', /^petstore: There is no password on standard input/],
  ])('ends with %i and says why: %s', async (code, line, why) => {
    expect(await run(line.split(' '))).toEqual({ code, stdout: '', stderr: expect.stringMatching(why) });
  });

  test.each<[string, () => Promise<Record<string, string>>, RegExp]>([
    ['empty', async () => ({ DATABASE_URL: await createDatabase() }), /Run `npm run migration:run` first/],
    ['not there', async () => ({ DATA_DIR: newFolder() }), /There is no database in /],
  ])('reports a database that is %s in one line', async (_name, prepare, why) => {
    const { code, stderr } = await admin(['accounts', 'list'], await prepare());
    expect(code).toBe(1);
    expect(stderr).toMatch(/^petstore: [^\n]+\n$/);
    expect(stderr).toMatch(why);
  });
});

describe('The program petstore', () => {
  const FILE = 'dist/src/commands/petstore.js';
  const PROGRAM = join(ROOT, FILE);
  /** A folder whose package.json says what it has of features, with the program elsewhere. */
  const folderWith = (packageJson: object | string) => {
    const cwd = newFolder();
    const text = typeof packageJson === 'string' ? packageJson : JSON.stringify(packageJson);
    writeFileSync(join(cwd, 'package.json'), text);
    return cwd;
  };
  const unbuilt = () => folderWith({ petstore: { features: 'dist/features.js' } });
  const withoutNone = () => folderWith({ petstore: { without: ['nothing'] } });
  const listed = () => folderWith({ petstore: { features: ['dist/features.js'] } });
  const withoutText = () => folderWith({ petstore: { without: 'pets' } });
  const misnamed = () => {
    const cwd = folderWith({ type: 'module', petstore: { features: 'features.js' } });
    writeFileSync(join(cwd, 'features.js'), 'export const Features = [];');
    return cwd;
  };
  const broken = () => folderWith('{ "petstore": ');
  const occupied = () => {
    const cwd = newFolder();
    mkdirSync(join(cwd, 'openapi.json'));
    return cwd;
  };
  const repository = () => {
    const cwd = folderWith({ scripts: { migrate: 'petstore migrate' } });
    mkdirSync(join(cwd, 'src'));
    return cwd;
  };
  const image = () => {
    const cwd = newFolder();
    for (const part of ['dist/src', 'dist/docs'])
      cpSync(join(ROOT, part), join(cwd, part), { recursive: true });
    cpSync(join(ROOT, 'package.json'), join(cwd, 'package.json'));
    symlinkSync(join(ROOT, 'node_modules'), join(cwd, 'node_modules'));
    return cwd;
  };

  test.each<[string, string, RegExp, () => string]>([
    ['features that are not built', 'admin accounts list', /no dist\/features\.js.*npm run build/, unbuilt],
    ['features that are not built', 'openapi', /no dist\/features\.js.*npm run build/, unbuilt],
    [
      'an unknown feature to leave out',
      'admin accounts list',
      /no feature nothing to leave out/,
      withoutNone,
    ],
    ['an unknown feature to leave out', 'openapi', /no feature nothing to leave out/, withoutNone],
    ['features to leave out that are no list', 'openapi', /petstore\.without must be a list/, withoutText],
    ['features that are no path', 'openapi', /petstore\.features must be the path of a file/, listed],
    ['features under another name', 'openapi', /features\.js, .* exports no list FEATURES/, misnamed],
    ['a package.json that is no JSON', 'openapi', /package\.json cannot be read: .*JSON/, broken],
    ['a package.json that is no JSON', 'start', /package\.json cannot be read: .*JSON/, broken],
    [
      'a folder in the place of its file',
      'openapi',
      /openapi\.json cannot be written in this folder: EISDIR/,
      occupied,
    ],
    ['an empty database', 'admin accounts list', /Run `npm run migrate` first/, repository],
    [
      'an empty database',
      'admin accounts list',
      /Run `node dist\/src\/commands\/petstore\.js migrate`/,
      image,
    ],
    ['generators', 'new clinic', /The container image has no generators/, image],
  ])('says of %s in one line what to do, and ends with 1: %s', async (_what, line, why, folder) => {
    const cwd = folder();
    const env = { DATABASE_URL: await createDatabase() };
    const args = [folder === image ? FILE : PROGRAM, ...line.split(' ')];
    const { code, stdout, stderr } = await runNode(args, { cwd, env });
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(/^petstore: [^\n]+\n$/)]);
    expect(stderr).toMatch(why);
  });

  test('says a warning of a library in one line', async () => {
    const env = { DATABASE_URL: 'postgresql://u:p@127.0.0.1:1/x?sslmode=require' };
    const { code, stderr } = await runNode([PROGRAM, 'migrate'], { env });
    expect([code, ...stderr.split('\n')]).toEqual([
      1,
      expect.stringMatching(/^petstore: Warning: SECURITY WARNING: The SSL modes .* 'verify-full'\.$/),
      expect.stringMatching(/^petstore: The database cannot be reached: .*ECONNREFUSED/),
      '',
    ]);
  });

  test.each([
    [['--help'], 0],
    [[], 2],
  ])('says how it is used: petstore %s', async (args, code) => {
    const ran = await runNode([PROGRAM, ...args]);
    expect(ran.code).toBe(code);
    expect(ran.stdout + ran.stderr).toMatch(/^Usage: petstore <start \| migrate \| .*doctor.*>/);
  });
});

describe('The embedded database', () => {
  test('is reached while a service runs on it, also by other programs at the documented address', async () => {
    const DATA_DIR = newFolder();
    await nodeStart({ DATA_DIR }).ready();
    const listed = await admin(['accounts', 'list'], { DATA_DIR });
    expect(listed.stdout).toContain('demo@petstore.invalid');
    const documented = /export (DATABASE_URL=.*)/.exec(OPERATING)![1]!;
    const command = `${documented.replaceAll('data/', `${DATA_DIR}/`)} exec ${process.execPath} ${ADMIN.join(' ')} accounts list`;
    const shell = spawn('sh', ['-c', command], { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
    expect(await text(shell.stdout)).toBe(listed.stdout);
  });

  test('is reached while no service runs on it, and is stopped again, also by a signal', async () => {
    const env = { DATA_DIR: newFolder() };
    expect((await migrate(env)).stdout).toMatch(/^Migrated: /);
    expect((await migrate(env)).stdout).toBe('The schema is up to date.\n');
    expect(await admin(['accounts', 'list'], env)).toEqual({ code: 0, stdout: 'None.\n', stderr: '' });
    expect(postgresOn(env.DATA_DIR)).toEqual([]);
    // It waits for a password.
    const command = spawn(process.execPath, [...ADMIN, 'accounts', 'create', 'ada@example.com'], {
      cwd: ROOT,
      env: { PATH: process.env.PATH, ...env },
    });
    await eventually(() => postgresOn(env.DATA_DIR).length > 0);
    command.kill('SIGTERM');
    expect((await once(command, 'exit'))[0]).toBe(1);
    expect(postgresOn(env.DATA_DIR)).toEqual([]);
  });
});

(hasPsql ? test : test.skip)('The documented SQL fills a catalogue of any size', async () => {
  const url = await createDatabase('TEMPLATE migrated');
  const [, sql] = /<<'SQL'\n(.*?)SQL\n/s.exec(OPERATING)!;
  expect(await psql(url, sql!.replace('1000000', '1000'))).toEqual({ code: 0, stderr: '' });
  const counts = `SELECT status, count(*)::int, count(DISTINCT category_id)::int AS categories FROM pets GROUP BY 1 ORDER BY 1`;
  expect(await query(url, counts)).toEqual([
    { status: 'available', count: 250, categories: 5 },
    { status: 'pending', count: 250, categories: 5 },
    { status: 'sold', count: 500, categories: 10 },
  ]);
});

describe('A service with rights only on the rows', () => {
  const APP_PASSWORD = 'change me';
  const SCRIPT = readFileSync(`${ROOT}/deploy/postgres/roles.sql`, 'utf8');

  /** What only the owner of the tables may do. */
  const OWNERS = [
    ...['DROP TABLE pets', 'ALTER TABLE pets ADD COLUMN x text'],
    ...['ALTER TABLE audit_log DISABLE TRIGGER audit_log_append_only', 'TRUNCATE audit_log'],
    ...['DROP SCHEMA pgboss', 'CREATE TABLE more (id bigint)', 'CREATE INDEX ON pets (name)'],
  ];

  /** Whose role is made before or after the database is migrated. */
  const WAYS: [by: string, sql: (role: string) => string, isBefore: boolean][] = [
    [
      'by docs/operating.md',
      (role) =>
        /```sql\n(CREATE ROLE .*?)```/s
          .exec(OPERATING)![1]!
          .replaceAll('petstore_app', role)
          .replaceAll('petstore_owner', 'petstore'),
      false,
    ],
    ['by deploy/postgres/roles.sql', (role) => SCRIPT.replaceAll('petstore_app', role), true],
  ];
  test.each(WAYS.slice(0, hasPsql ? 2 : 1))(
    'does everything on a schema that another role has migrated, and cannot change the schema: %s',
    async (_by, sql, isBefore) => {
      const owner = await createDatabase();
      const role = `app_${new URL(owner).pathname.slice(1)}`;
      if (isBefore) expect(await psql(owner, sql(role), { APP_PASSWORD })).toEqual({ code: 0, stderr: '' });
      await migrate({ DATABASE_URL: owner });
      if (!isBefore) await query(owner, sql(role));
      const DATABASE_URL = Object.assign(new URL(owner), { username: role, password: APP_PASSWORD }).href;
      const receiver = await Receiver.start();
      const restricted = await startService({ DATABASE_URL, ...receiver.env });
      const account = await createAccount(restricted);
      const customer = await Customer.of(restricted, account);
      await customer.orderAt('placed');
      const { key } = customer;
      const message = await call(restricted, 'POST', '/v1/messages', { key, body: { message: 'Hello' } });
      await eventually(async () => {
        const { body: sent } = await call(restricted, 'GET', `/v1/messages/${message.body.id}`, { key });
        return sent.status === 'delivered';
      });
      expect((await call(restricted, 'DELETE', '/v1/accounts/current', { account })).status).toBe(204);
      await restricted.stop();
      receiver.stop();
      for (const statement of OWNERS)
        await expect(query(DATABASE_URL, statement)).rejects.toThrow(/must be owner|permission denied/);
      await expect(query(DATABASE_URL, `UPDATE audit_log SET actor = 'operator'`)).rejects.toThrow(
        'cannot be changed',
      );
    },
  );

  (hasPsql ? test : test.skip).each<[string, Record<string, string>]>([
    ['without', {}],
    ['with an empty', { APP_PASSWORD: '' }],
  ])('gets no role %s password from the script', async (_with, env) => {
    const url = await createDatabase();
    const role = `app_${new URL(url).pathname.slice(1)}`;
    const { code, stderr } = await psql(url, SCRIPT.replaceAll('petstore_app', role), env);
    expect(code).toBe(3);
    expect(stderr).toMatch(
      /^[^\n]*ERROR: +APP_PASSWORD is not set: [^\n]+\n[^]*Nothing has been changed\.\n/,
    );
    expect(await query(url, 'SELECT FROM pg_roles WHERE rolname = $1', [role])).toEqual([]);
  });
});
