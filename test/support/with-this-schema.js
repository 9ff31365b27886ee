import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import { migrate } from '../../dist/src/testing/setup.js';

/** The set-up of the tests in the current folder, whose databases then begin with the schema of this checkout. */
export default async function setUp(...args) {
  const { default: setUpThere } = await import(pathToFileURL(resolve('test/support/global-setup.js')).href);
  await setUpThere(...args);
  const url = process.env.TEST_DATABASE_URL;
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(
    `SELECT datname AS name FROM pg_database WHERE datname IN ('template1', 'migrated')`,
  );
  await client.end();
  for (const { name } of rows) await migrate(url, name);
}
