import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { call, createAccount, createKey, expectError, expectRevoked, TIMESTAMP } from './support/client.js';
import { endRuns, newFolder, nodeStart, removeFolders, ROOT, runNode } from './support/npm.js';
import { createDatabase, query, type Service, startService } from './support/service.js';

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
  runNode([`dist/src/platform/commands/${main}.js`, ...args], {
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
      createdAt: expect.stringMatching(TIMESTAMP),
      expiresAt,
    });
    expect((await call(service, 'GET', '/v1/pets', { key })).status).toBe(200);
    expect(await json(['keys', 'list', email])).toEqual([told]);
    // So that the service has just seen it.
    expect((await call(service, 'GET', '/v1/pets', { key })).status).toBe(200);
    expect(await run(['keys', 'revoke', email, String(told.id)])).toMatchObject({
      code: 0,
      stdout: `Key ${told.id} is revoked.\n`,
    });
    await expectRevoked(async () => [await call(service, 'GET', '/v1/pets', { key })]);
    expect(await json(['keys', 'list', email])).toEqual([]);
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
    const command = `${documented.replaceAll('data/', `${DATA_DIR}/`)} exec ${process.execPath} dist/src/platform/commands/admin/main.js accounts list`;
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
  test('starts and works on a schema that another role has migrated', async () => {
    const owner = await createDatabase();
    await run([], { env: { DATABASE_URL: owner }, main: 'migrate' });
    const role = `app_${new URL(owner).pathname.slice(1)}`;
    const documented = /```sql\n(.*?)```/s.exec(OPERATING)![1]!;
    await query(owner, documented.replaceAll('petstore_app', role).replaceAll('petstore_owner', 'petstore'));
    const DATABASE_URL = Object.assign(new URL(owner), { username: role, password: 'change me' }).href;
    const restricted = await startService({ DATABASE_URL });
    const key = await createKey(restricted);
    const body = { name: 'Luna', categoryId: 1, status: 'available' };
    const { body: pet } = await call(restricted, 'POST', '/v1/pets', { key, body });
    const order = await call(restricted, 'POST', '/v1/store/orders', { key, body: { petId: pet.id } });
    const message = await call(restricted, 'POST', '/v1/messages', { key, body: { message: 'Hello' } });
    expect([order.status, message.status]).toEqual([201, 202]);
    await restricted.stop();
    await expect(query(DATABASE_URL, 'DROP TABLE pets')).rejects.toThrow('must be owner');
  });
});
