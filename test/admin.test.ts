import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import {
  call,
  createAccount,
  createKey,
  expectError,
  expectRevoked,
  TIMESTAMP,
} from '../src/testing/client.js';
import { endRuns, eventually, newFolder, nodeStart, removeFolders, ROOT, runNode } from './support/npm.js';
import { hasPsql, psql } from './support/psql.js';
import { Receiver } from './support/receiver.js';
import { createDatabase, query, type Service, startService } from '../src/testing/service.js';

/** The commands that operators paste, tested exactly as documented. */
const OPERATING = readFileSync(`${ROOT}/docs/operating.md`, 'utf8');

let service: Service;
beforeAll(async () => (service = await startService()));
afterAll(() => service.stop());
afterEach(endRuns);
afterAll(removeFolders);

/** Runs a built program to its end, on the database of the service. */
const run = (
  args: string[],
  {
    input = '',
    env = {},
    main = 'admin/main',
  }: { input?: string; env?: Record<string, string>; main?: string } = {},
) =>
  runNode([`dist/src/commands/${main}.js`, ...args], {
    input,
    env: { DATABASE_URL: service.databaseUrl, ...env },
  });

/** Runs it with `--json`, and returns what it has printed. */
async function json(args: string[], input = '') {
  const { code, stdout, stderr } = await run([...args, '--json'], { input });
  expect({ code, stderr: stderr.trim() }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/^(Password:)?$/),
  });
  return JSON.parse(stdout);
}

describe('Accounts', () => {
  test('that are created with a password on standard input log in with it', async () => {
    const account = { email: 'Grace@example.com', password: 'correct horse battery' };
    const created = await json(['accounts', 'create', account.email], `${account.password}\n`);
    expect(created).toEqual({
      id: expect.any(Number),
      email: account.email,
      createdAt: expect.stringMatching(TIMESTAMP),
    });
    expect((await call(service, 'GET', '/v1/api-keys', { account })).status).toBe(200);
  });

  test('accept a new password, typed or generated, and no longer the old one', async () => {
    const old = await createAccount(service);
    const { email } = old;
    const key = await createKey(service, old);
    await run(['accounts', 'set-password', email], { input: 'another fine horse' });
    const typed = { email, password: 'another fine horse' };
    expect((await call(service, 'GET', '/v1/api-keys', { account: typed })).status).toBe(200);
    expectError(await call(service, 'GET', '/v1/api-keys', { account: old }), 401, 'invalid_credentials');
    const generated = await json(['accounts', 'set-password', email, '--generate-password']);
    expect((await call(service, 'GET', '/v1/api-keys', { account: generated })).status).toBe(200);
    expect((await call(service, 'GET', '/v1/pets', { key })).status).toBe(200);
  });

  test('are all listed, over more than a page', async () => {
    const DATABASE_URL = await createDatabase();
    await run([], { env: { DATABASE_URL }, main: 'migrate' });
    expect((await run(['accounts', 'list'], { env: { DATABASE_URL } })).stdout).toBe('None.\n');
    await query(
      DATABASE_URL,
      `INSERT INTO accounts (email, password_hash) SELECT n || '@example.com', '-' FROM generate_series(1, 201) n`,
    );
    const { stdout } = await run(['accounts', 'list'], { env: { DATABASE_URL } });
    const lines = stdout.trim().split('\n');
    expect(lines[0]).toMatch(/^id {3}email {12}createdAt$/);
    expect(lines.slice(1).map((line) => line.split(/ +/)[1])).toEqual(
      Array.from({ length: 201 }, (_, index) => `${index + 1}@example.com`),
    );
    expect(stdout).not.toContain('password');
  });
});

describe('Keys', () => {
  test('that are created work, are listed without their value, and are refused within a second of being revoked', async () => {
    const { email } = await createAccount(service);
    const expiresAt = '2100-01-31T12:00:00.000Z';
    const { key, ...told } = await json([
      'keys',
      'create',
      email,
      '--name',
      'Till',
      '--expires-at',
      expiresAt,
    ]);
    expect(told).toEqual({
      id: expect.any(Number),
      name: 'Till',
      permissions: expect.arrayContaining(['pets:read', 'orders:manage']),
      createdAt: expect.stringMatching(TIMESTAMP),
      expiresAt,
    });
    expect((await call(service, 'GET', '/v1/pets', { key })).status).toBe(200);
    expect(await json(['keys', 'list', email])).toEqual([{ ...told, lastUsedAt: expect.any(String) }]);
    // So that the service has just seen it.
    expect((await call(service, 'GET', '/v1/pets', { key })).status).toBe(200);
    expect(await run(['keys', 'revoke', email, String(told.id)])).toMatchObject({
      code: 0,
      stdout: `Key ${told.id} is revoked.\n`,
    });
    await expectRevoked(async () => [await call(service, 'GET', '/v1/pets', { key })]);
    expect(await json(['keys', 'list', email])).toEqual([]);
  });

  test('have the permissions that they are given, and at most those that their account is given', async () => {
    const account = await createAccount(service);
    const { key } = await json([
      'keys',
      'create',
      account.email,
      '--name',
      'x',
      '--permissions',
      'pets:read',
    ]);
    const add = () => call(service, 'POST', '/v1/pets', { key, body: '{' });
    expectError(await add(), 403, 'permission_denied');
    const all = await createKey(service, account);
    const set = (permissions: string) => run(['accounts', 'set-permissions', account.email, permissions]);
    expect(await set('orders:read,orders:write')).toEqual({
      code: 0,
      stdout: `Keys of "${account.email}" may do: orders:read, orders:write.\n`,
      stderr: '',
    });
    await eventually(async () => (await call(service, 'GET', '/v1/pets', { key })).status === 403);
    await eventually(async () => (await call(service, 'GET', '/v1/pets', { key: all })).status === 403);
    expect((await call(service, 'GET', '/v1/store/orders', { key: all })).status).toBe(200);
    const shown = await call(service, 'GET', '/v1/accounts/current', { account });
    expect(shown.body.permissions).toEqual(['orders:read', 'orders:write']);
    expect(await set('all')).toMatchObject({ code: 0 });
    await eventually(async () => (await call(service, 'GET', '/v1/pets', { key: all })).status === 200);
    expect(await set('pets:fly')).toMatchObject({ code: 2 });
  });

  test('are not created with an end that has passed', async () => {
    const { email } = await createAccount(service);
    const past = ['--name', 'Past', '--expires-at', '2020-01-31T12:00:00Z'];
    expect(await run(['keys', 'create', email, ...past])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'petstore: expiresAt must be a time in the future such as 2030-01-31T12:00:00Z.\n',
    });
    expect(await json(['keys', 'list', email])).toEqual([]);
  });

  test('with terminal escape sequences in their name are printed with these escaped', async () => {
    const { email } = await createAccount(service);
    const { stdout } = await run(['keys', 'create', email, '--name', '\u001b[2J\u009b1m\n']);
    expect(stdout).toContain('\\u001b[2J\\u009b1m\\n');
    expect(stdout.split('\n')).toHaveLength(3);
  });
});

test('Invitations are listed without their code, until they are revoked', async () => {
  const expiresAt = '2100-01-31T12:00:00.000Z';
  const made = [
    await json(['invitations', 'create']),
    await json(['invitations', 'create', '--expires-at', expiresAt]),
  ];
  const shown = made.map(({ invitation: _code, ...rest }) => rest);
  expect(shown).toEqual([
    { id: expect.any(Number), createdAt: expect.stringMatching(TIMESTAMP) },
    { id: expect.any(Number), createdAt: expect.stringMatching(TIMESTAMP), expiresAt },
  ]);
  expect(await json(['invitations', 'list'])).toEqual(shown);
  const revoke = () => run(['invitations', 'revoke', String(shown[0]!.id)]);
  expect(await revoke()).toEqual({
    code: 0,
    stdout: `Invitation ${shown[0]!.id} is revoked.\n`,
    stderr: '',
  });
  expect(await json(['invitations', 'list'])).toEqual([shown[1]]);
  expect(await revoke()).toEqual({
    code: 1,
    stdout: '',
    stderr: `petstore: There is no invitation ${shown[0]!.id} that has not been used.\n`,
  });
});

describe('What fails', () => {
  test('ends with 2 for wrong usage, with 1 for a failure, and says why', async () => {
    const failures: [number, string[], RegExp][] = [
      [2, ['pets'], /unknown command 'pets'/],
      [2, ['keys', 'create', 'a@b.example'], /'--name <name>' not specified/],
      [2, ['keys', 'revoke', 'a@b.example', '1e3'], /Must be a 64-bit integer/],
      [1, ['keys', 'list', 'nobody@example.com'], /^petstore: There is no account "nobody@e/],
      [1, ['accounts', 'create', 'x', '--generate-password'], /^petstore: email must be an email/],
      [1, ['accounts', 'create', 'x@example.com'], /^petstore: There is no password on standard input/],
    ];
    // One after the other: a command gives a database that a busy machine keeps waiting up soon.
    for (const [code, args, why] of failures) {
      expect(await run(args)).toEqual({ code, stdout: '', stderr: expect.stringMatching(why) });
    }
  });

  test.each<[string, () => Promise<Record<string, string>>, RegExp]>([
    [
      'away',
      async () => ({ DATABASE_URL: 'postgres://u:s3cret@127.0.0.1:1/x' }),
      /cannot be reached: .*ECONNREFUSED/,
    ],
    ['empty', async () => ({ DATABASE_URL: await createDatabase() }), /Run `npm run migration:run` first/],
  ])('reports a database that is %s in one line', async (_name, prepare, why) => {
    const { code, stderr } = await run(['accounts', 'list'], { env: await prepare() });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^petstore: [^\n]+\n$/);
    expect(stderr).toMatch(why);
    expect(stderr).not.toContain('s3cret');
  });

  test('works on the embedded data of a running service, whose documented address is right', async () => {
    const DATA_DIR = newFolder();
    await nodeStart({ DATA_DIR }).ready();
    const listed = await run(['accounts', 'list'], { env: { DATABASE_URL: '', DATA_DIR } });
    expect(listed.stdout).toContain('demo@petstore.invalid');
    const documented = /export (DATABASE_URL=.*)/.exec(OPERATING)![1]!;
    const command = `${documented.replaceAll('data/', `${DATA_DIR}/`)} exec ${process.execPath} dist/src/commands/admin/main.js accounts list`;
    const shell = spawn('sh', ['-c', command], { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
    expect(await text(shell.stdout)).toBe(listed.stdout);
  });
});

test('admin works on embedded data that no service is using, and leaves nothing running', async () => {
  const DATA_DIR = newFolder();
  const env = { DATABASE_URL: '', DATA_DIR };
  expect((await run([], { env, main: 'migrate' })).stdout).toMatch(/^Migrated: /);
  expect((await run([], { env, main: 'migrate' })).stdout).toBe('The schema is up to date.\n');
  expect(await run(['accounts', 'list'], { env })).toEqual({ code: 0, stdout: 'None.\n', stderr: '' });
});

describe('A service with rights only on the rows', () => {
  const APP_PASSWORD = 'change me';
  const SCRIPT = readFileSync(`${ROOT}/deploy/postgres/roles.sql`, 'utf8');

  /** Starts one on a new database, whose roles are made before or after it is migrated, and has it do what it does. */
  async function serveAs(sql: (role: string) => string, isBefore: boolean): Promise<string> {
    const owner = await createDatabase();
    const role = `app_${new URL(owner).pathname.slice(1)}`;
    if (isBefore) expect(await psql(owner, sql(role), { APP_PASSWORD })).toEqual({ code: 0, stderr: '' });
    await run([], { env: { DATABASE_URL: owner }, main: 'migrate' });
    if (!isBefore) await query(owner, sql(role));
    const DATABASE_URL = Object.assign(new URL(owner), { username: role, password: APP_PASSWORD }).href;
    const receiver = await Receiver.start();
    const restricted = await startService({ DATABASE_URL, ...receiver.env });
    const account = await createAccount(restricted);
    const key = await createKey(restricted, account);
    const body = { name: 'Luna', categoryId: 1, status: 'available' };
    const { body: pet } = await call(restricted, 'POST', '/v1/pets', { key, body });
    const order = await call(restricted, 'POST', '/v1/store/orders', { key, body: { petId: pet.id } });
    const message = await call(restricted, 'POST', '/v1/messages', { key, body: { message: 'Hello' } });
    expect([order.status, message.status]).toEqual([201, 202]);
    await eventually(async () => {
      const { body: sent } = await call(restricted, 'GET', `/v1/messages/${message.body.id}`, { key });
      return sent.status === 'delivered';
    });
    expect((await call(restricted, 'DELETE', '/v1/accounts/current', { account })).status).toBe(204);
    await restricted.stop();
    receiver.stop();
    return DATABASE_URL;
  }

  /** What only the owner of the tables may do. */
  const OWNERS = [
    'DROP TABLE pets',
    'ALTER TABLE pets ADD COLUMN x text',
    'ALTER TABLE audit_log DISABLE TRIGGER audit_log_append_only',
    'TRUNCATE audit_log',
    'DROP SCHEMA pgboss',
    'CREATE TABLE more (id bigint)',
    'CREATE INDEX ON pets (name)',
  ];

  const WAYS: [by: string, sql: (role: string) => string, isBefore: boolean][] = [
    [
      'by docs/operating.md',
      (role) =>
        /```sql\n(.*?)```/s
          .exec(OPERATING)![1]!
          .replaceAll('petstore_app', role)
          .replaceAll('petstore_owner', 'petstore'),
      false,
    ],
    ['by deploy/postgres/roles.sql', (role) => SCRIPT.replaceAll('petstore_app', role), true],
  ];
  test.each(WAYS.slice(0, hasPsql ? 2 : 1))(
    'does everything on a schema that another role has migrated, and can change none of that: %s',
    async (_by, sql, isBefore) => {
      const databaseUrl = await serveAs(sql, isBefore);
      for (const statement of OWNERS)
        await expect(query(databaseUrl, statement)).rejects.toThrow(/must be owner|permission denied/);
      await expect(query(databaseUrl, `UPDATE audit_log SET actor = 'operator'`)).rejects.toThrow(
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
