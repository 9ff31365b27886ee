import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Client } from 'pg';

const MIGRATE = fileURLToPath(new URL('../../dist/src/platform/commands/migrate.js', import.meta.url));

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
  for (const { name } of rows) {
    const DATABASE_URL = Object.assign(new URL(url), { pathname: name }).href;
    const env = { ...process.env, DATABASE_URL, DATABASE_DIRECT_URL: DATABASE_URL };
    await promisify(execFile)(process.execPath, [MIGRATE], { env });
  }
}
