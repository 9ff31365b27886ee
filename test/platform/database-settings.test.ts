import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { call, createKey } from '../../src/testing/client.js';
import { admin } from '../support/commands.js';
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
    `petstore: The encoding of the database ${new URL(url).pathname.slice(1)} is LATIN1, and UTF8 is needed: ` +
    `create another with ENCODING 'UTF8' TEMPLATE template0, and move the data by pg_dump.\n`;
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
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining(
      'The tables are in the schema public, but search_path has other in front',
    ),
  });
  const tables = `SELECT FROM pg_tables WHERE schemaname = 'other'`;
  expect(await query(url, tables)).toEqual([]);
});

afterAll(removeFolders);
