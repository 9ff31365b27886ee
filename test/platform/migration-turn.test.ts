import { Client } from 'pg';
import { endRuns, eventually, nodeStart } from '../support/npm.js';
import { createDatabase } from '../../src/testing/service.js';
import { DataSource } from 'typeorm';
import { Config } from '../../src/config.js';
import { sessionOptions } from '../../src/platform/database/connection-options.js';
import { awaitTurn } from '../../src/platform/database/migrate.js';

const LOCK = 7_387_001;
const RESTLESS = { first: 50, next: 50, total: 200 };

let url: string;
let other: Client;
beforeAll(async () => {
  url = await createDatabase();
  other = new Client({ connectionString: url });
  await other.connect();
});
beforeEach(() => other.query('SELECT pg_advisory_lock($1)', [LOCK]));
afterEach(async () => {
  endRuns();
  await other.query('SELECT pg_advisory_unlock_all()');
});
afterAll(() => other.end());

const pid = async () => (await other.query('SELECT pg_backend_pid() AS pid')).rows[0].pid as number;

describe('A process that waits for its turn to migrate', () => {
  test('says so in the log, with the session that holds it up, and starts once that is over', async () => {
    const run = nodeStart({ DATABASE_URL: url });
    await eventually(() => run.stderr.includes('Waiting for another process'));
    expect(run.stderr).toContain(
      `session ${await pid()}, from 127.0.0.1) to migrate the database, for 1 s so far`,
    );
    await other.query('SELECT pg_advisory_unlock($1)', [LOCK]);
    await run.ready();
    await run.stop();
  });

  test('gives up in the end, with a line', async () => {
    const database = await new DataSource({ type: 'postgres', url }).initialize();
    const session = database.createQueryRunner();
    await expect(awaitTurn(session, LOCK, RESTLESS)).rejects.toThrow(
      new RegExp(`session ${await pid()}, .* has been migrating this database for more than 0 s`),
    );
    await session.release();
    await database.destroy();
  });

  test('has asked the server to look after half a minute whether its machine is still there', async () => {
    const config = Object.assign(new Config(), { DATABASE_URL: url });
    const database = await new DataSource(sessionOptions(config)).initialize();
    const names = ['tcp_keepalives_idle', 'tcp_keepalives_interval'];
    const found = await Promise.all(
      names.map((name) => database.query(`SELECT current_setting('${name}') AS value`)),
    );
    expect(found).toEqual([[{ value: '30' }], [{ value: '10' }]]);
    await database.destroy();
  });
});
