import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { call, createKey } from '../../src/testing/client.js';
import { Client } from 'pg';
import { CHECK_CLIENT, prepareSession } from '../../src/platform/database/session-settings.js';
import { admin, doctor } from '../support/commands.js';
import { Customer, times, untilServed } from '../support/customer.js';
import { newFolder, removeFolders, runNode } from '../support/npm.js';
import { createDatabase, query, startService } from '../../src/testing/service.js';

/** Whatever an operator may have set for a database or a role, and the service would not expect. */
const FOREIGN = {
  datestyle: 'German, DMY',
  intervalstyle: 'sql_standard',
  timezone: 'Asia/Kathmandu',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  array_nulls: 'off',
  standard_conforming_strings: 'off',
  transform_null_equals: 'on',
  quote_all_identifiers: 'on',
  default_transaction_isolation: 'serializable',
};

test('A database in another encoding than UTF-8 is refused', async () => {
  const url = await createDatabase(`ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0`);
  const stderr =
    `petstore: The encoding of the database ${new URL(url).pathname.slice(1)} is LATIN1, but the service needs UTF8: ` +
    `create another database with ENCODING 'UTF8' TEMPLATE template0, and move the data by pg_dump.\n`;
  const env = { DATABASE_URL: url, PORT: '0' };
  expect(await runNode(['dist/src/main.js'], { env })).toEqual({ code: 1, stdout: '', stderr });
});

test('A server behind a Unix socket is used, with both forms of its URL', async () => {
  const folder = newFolder();
  const url = await createDatabase('TEMPLATE migrated');
  const { username, password, hostname, port, pathname } = new URL(url);
  let sessions = 0;
  const server = createServer((socket) => {
    sessions += 1;
    const tcp = connect(Number(port), hostname);
    // Either may be cut off.
    pipeline(socket, tcp, socket, () => {});
  });
  server.listen(join(folder, '.s.PGSQL.5432'));
  await once(server, 'listening');
  const user = `postgresql://${username}:${password}@`;
  const service = await startService({
    DATABASE_URL: `${user}${pathname}?host=${folder}`,
    DATABASE_DIRECT_URL: `${user}${encodeURIComponent(folder)}${pathname}`,
  });
  const key = await createKey(service);
  const { status } = await call(service, 'POST', '/v1/messages', { key, body: { message: 'hello' } });
  expect(status).toBe(202);
  expect(await query(url, 'SELECT message FROM messages')).toEqual([{ message: 'hello' }]);
  expect(sessions).toBeGreaterThan(1);
  expect(await service.stop()).toBe(0);
  server.close();
});

test('A database with foreign settings is served as any other', async () => {
  const url = await createDatabase();
  for (const [setting, value] of Object.entries(FOREIGN))
    await query(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET ${setting} = '${value}'`);
  const service = await startService({ DATABASE_URL: url });
  try {
    const key = await createKey(service);
    await times(10, async (i) => {
      const body = {
        name: `${'é'.repeat(200)} 🐶 \\n' ${i}`,
        categoryId: 1,
        ...(i % 2 && { status: 'available' }),
      };
      const created = await untilServed(() => call(service, 'POST', '/v1/pets', { key, body }));
      expect(created).toMatchObject({ status: 201, body });
      expect('status' in created.body).toBe(i % 2 === 1);
    });
    const customer = await Customer.of(service);
    for (const { createdAt } of await times(5, () => customer.orderAt('approved'))) {
      expect(createdAt).toBe(new Date(createdAt).toISOString());
      expect(Math.abs(Date.parse(createdAt) - Date.now())).toBeLessThan(60_000);
    }
    const sent = await call(service, 'POST', '/v1/messages', { key, body: { message: 'a\\b🐶' } });
    expect(sent).toMatchObject({ status: 202, body: { message: 'a\\b🐶' } });
    const { code, stdout } = await admin(['audit'], { DATABASE_URL: url });
    expect(code).toBe(0);
    const dates = stdout
      .trim()
      .split('\n')
      .map((row) => JSON.parse(row).createdAt ?? JSON.parse(row).at);
    for (const date of dates) expect(date).toBe(new Date(date).toISOString());
  } finally {
    await service.stop();
  }
});

test('A schema in front of the schema of the tables is refused: migrations would create empty tables there', async () => {
  const url = await createDatabase('TEMPLATE migrated');
  const name = new URL(url).pathname.slice(1);
  await query(url, `CREATE SCHEMA other; ALTER DATABASE ${name} SET search_path = other, public`);
  const { code, stderr } = await runNode(['dist/src/main.js'], { env: { DATABASE_URL: url, PORT: '0' } });
  const why = 'The tables are in the schema public, but search_path has other in front';
  expect([code, stderr]).toEqual([1, expect.stringContaining(why)]);
  const tables = `SELECT FROM pg_tables WHERE schemaname = 'other'`;
  expect(await query(url, tables)).toEqual([]);
});

describe('A database that cannot be used ends the start with a line that names the parameter or the right', () => {
  const PASSWORD = 'x';
  /** A role with some rights in a database, and the URL with it. */
  const withRole = async (url: string, ...grants: ((role: string) => string)[]) => {
    const role = `role_${new URL(url).pathname.slice(1)}`;
    await query(url, `CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`);
    for (const grant of grants) await query(url, grant(role));
    return Object.assign(new URL(url), { username: role, password: PASSWORD }).href;
  };
  const empty = async () => withRole(await createDatabase());
  const migrated = async () => withRole(await createDatabase('TEMPLATE migrated'));
  const inPublic = (role: string) => `GRANT ALL ON SCHEMA public TO ${role}`;

  test.each<[string, RegExp, () => Promise<string>]>([
    ['?sslmode=require', /does not support SSL.*sslmode/, () => createDatabase()],
    ['?ssl=true', /does not support SSL.*sslmode or ssl/, () => createDatabase()],
    ['?sslmode=verify-full&sslrootcert=/nowhere.pem', /\/nowhere\.pem.*sslrootcert/, () => createDatabase()],
    ['?sslrootcert=system', /system.*sslrootcert/, () => createDatabase()],
    ['?options=endpoint%3Dep-x', /endpoint=ep-x.*options/, () => createDatabase()],
    ['', /denied for schema public.*GRANT USAGE ON SCHEMA public/, empty],
    [
      '',
      /denied for database .*GRANT CREATE ON DATABASE/,
      async () => withRole(await createDatabase(), inPublic),
    ],
    ['', /denied for table migrations.*GRANT SELECT, INSERT, UPDATE, DELETE/, migrated],
  ])('%s %s', async (parameters, line, database) => {
    const env = { DATABASE_URL: `${await database()}${parameters}`, PORT: '0' };
    const { code, stderr } = await runNode(['dist/src/main.js'], { env });
    // The log has a warning of `pg` about some modes of SSL, as a line of its own.
    const said = stderr.replace(/^\{.*\}\n/m, '');
    expect([code, said]).toEqual([1, expect.stringMatching(/^petstore: [^\n]+\n$/)]);
    expect(said).toMatch(line);
  });

  test('but a schema for jobs that a DBA has made is enough', async () => {
    const url = await createDatabase();
    const withSchema = (role: string) => `CREATE SCHEMA pgboss AUTHORIZATION ${role}`;
    const service = await startService({ DATABASE_URL: await withRole(url, inPublic, withSchema) });
    expect(await service.stop()).toBe(0);
  });
});

test('A password of any characters is taken from PGPASSWORD, as Docker Compose gives it', async () => {
  const url = new URL(await createDatabase('TEMPLATE migrated'));
  const role = `any_${url.pathname.slice(1)}`;
  const PGPASSWORD = `p@ss/w%rd:#?`;
  await query(url.href, `CREATE ROLE ${role} SUPERUSER LOGIN PASSWORD '${PGPASSWORD}'`);
  const DATABASE_URL = Object.assign(url, { username: role, password: '' }).href;
  const service = await startService({ DATABASE_URL, PGPASSWORD });
  const key = await createKey(service);
  expect((await call(service, 'POST', '/v1/messages', { key, body: { message: 'hi' } })).status).toBe(202);
  expect(await service.stop()).toBe(0);
});

test('A new connection is prepared in one round trip', async () => {
  const client = new Client({ connectionString: await createDatabase() });
  await client.connect();
  let asked = 0;
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  stream.write = (...args: unknown[]) => write(...args, (asked += 1) && undefined);
  await prepareSession(client, CHECK_CLIENT);
  expect(asked).toBe(1);
  const { rows } = await client.query(`SELECT current_setting('client_connection_check_interval') AS ms`);
  expect(rows).toEqual([{ ms: '1s' }]);
  await client.end();
});

describe('The doctor', () => {
  test('finds nothing wrong with a database that is migrated', async () => {
    const names = [
      ...['settings', 'database server', 'schema', 'rights', 'time-outs and pooler', 'replicas'],
      ...['file descriptors', 'identity provider'],
    ];
    const stdout = names.map((name) => `ok       ${name}\n`).join('');
    const env = { DATABASE_URL: await createDatabase('TEMPLATE migrated') };
    expect(await doctor(env)).toEqual({ code: 0, stdout, stderr: '' });
  });

  test('says what is wrong and what to do: the server, the schema, rights, replicas, the issuer', async () => {
    const url = await createDatabase('TEMPLATE migrated');
    const name = new URL(url).pathname.slice(1);
    const role = `doctor_${name}`;
    await query(
      url,
      `CREATE ROLE ${role} LOGIN PASSWORD 'x'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role};
        GRANT USAGE ON SCHEMA pgboss TO ${role}; ALTER DATABASE ${name} SET synchronous_commit = off;
        DELETE FROM migrations WHERE id = (SELECT max(id) FROM migrations)`,
    );
    const DATABASE_URL = Object.assign(new URL(url), { username: role, password: 'x' }).href;
    const away = 'postgresql://u:s3cret@127.0.0.1:1/x';
    const env = {
      DATABASE_URL,
      DATABASE_REPLICA_URLS: `${away},${url}`,
      DATABASE_POOL_SIZE: '1000',
      OIDC_ISSUER: 'http://127.0.0.1:1',
      OIDC_AUDIENCE: 'pets',
    };
    const { code, stdout, stderr } = await doctor(env);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^petstore: Problems found: \d+\.\n$/)]);
    const lines = stdout.split('\n').filter((line) => !line.startsWith('ok '));
    for (const line of [
      'database server: A crash can lose .* switch synchronous_commit on\\.',
      'database server: The server allows \\d+ connections, but an instance may need \\d+: raise max_connections',
      'schema: Migrations are missing \\(1\\): run `npm run migration:run`',
      `rights: .* GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`,
      `rights: .* GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pgboss TO ${role}`,
      'replicas: 127.0.0.1:1: .*ECONNREFUSED',
      'replicas: .* is no replica of the primary',
      'identity provider: 127.0.0.1:1 cannot be reached: ',
    ])
      expect(lines).toContainEqual(expect.stringMatching(`^PROBLEM  ${line}`));
    expect(stdout).not.toContain('s3cret');
  });

  test('says of a database in another encoding how to make one', async () => {
    const options = `TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc`;
    const { code, stdout } = await doctor({ DATABASE_URL: await createDatabase(options) });
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^PROBLEM {2}database server: The encoding .* is SQL_ASCII, but the service needs UTF8: create/m,
    );
  });

  test('says of a database that is away, once, and ends with 1', async () => {
    const { code, stdout } = await doctor({ DATABASE_URL: 'postgresql://u:s3cret@127.0.0.1:1/x' });
    expect(code).toBe(1);
    expect(stdout.match(/PROBLEM/g)).toHaveLength(1);
    expect(stdout).toMatch(/^PROBLEM {2}database server: The database cannot be reached: .*ECONNREFUSED/m);
  });
});

afterAll(removeFolders);
