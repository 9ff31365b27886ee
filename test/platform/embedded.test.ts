import * as fs from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { claimPort } from '../../src/platform/process/claim-port.js';
import { query } from '../../src/testing/service.js';
import { admin } from '../support/commands.js';
import {
  endRuns,
  eventually,
  newFolder,
  nodeStart,
  postgresOn,
  removeFolders,
  signalPostgresOn,
  type Told,
} from '../support/npm.js';

const isRoot = process.getuid!() === 0;

afterEach(endRuns);
afterAll(removeFolders);

/** Lines of the server's `postmaster.pid`: https://www.postgresql.org/docs/current/storage-file-layout.html */
function lockFile(dataDir: string): string[] {
  return fs.readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n');
}

function urlOf(dataDir: string): string {
  const password = fs.readFileSync(join(dataDir, 'password'), 'utf8');
  return `postgresql://petstore:${password}@127.0.0.1:${lockFile(dataDir)[3]}/petstore`;
}

/** Kills the server, and waits until it is gone. */
async function kill(dataDir: string): Promise<void> {
  const pid = Number(lockFile(dataDir)[0]);
  process.kill(pid, 'SIGKILL');
  await eventually(() => !postgresOn(dataDir).includes(pid));
}

/** Waits until a list is answered again; returns the names. */
async function recovered(told: Told): Promise<string[]> {
  let names: string[] = [];
  await eventually(async () => {
    const list = await told.listPets();
    names = list.names;
    return list.status === 200;
  });
  return names;
}

describe('The embedded PostgreSQL that is killed', () => {
  const DATA_DIR = newFolder();

  test.each(['1', '2'])(
    'is started again with its data and at its address, with WORKERS=%s',
    async (WORKERS) => {
      const run = nodeStart({ DATA_DIR, WORKERS });
      const told = await run.ready();
      await told.createPet('Luna');
      const { names } = await told.listPets();
      const before = urlOf(DATA_DIR);
      await kill(DATA_DIR);
      expect(await recovered(told)).toEqual(names);
      await told.createPet('Milo');
      expect(urlOf(DATA_DIR)).toBe(before);
      expect(run.stderr).toContain('The embedded PostgreSQL has ended with SIGKILL and is started again');
      await run.stop();
      expect(postgresOn(DATA_DIR)).toEqual([]);
    },
  );

  test('in one of its sessions recovers, and the service with it', async () => {
    const run = nodeStart({ DATA_DIR });
    const told = await run.ready();
    await told.createPet('Nala');
    const { names } = await told.listPets();
    const [session] = await query<{ pid: number }>(
      urlOf(DATA_DIR),
      `SELECT pid FROM pg_stat_activity WHERE application_name = 'petstore'`,
    );
    process.kill(session!.pid, 'SIGKILL');
    expect(await recovered(told)).toEqual(names);
    await run.stop();
  });

  test.each(['1', '2'])(
    'and cannot be started ends the service with a line and 1, with WORKERS=%s',
    async (WORKERS) => {
      const folder = newFolder();
      const run = nodeStart({ DATA_DIR: folder, WORKERS, LOG_LEVEL: 'error', SHUTDOWN_GRACE_MS: '500' });
      await run.ready();
      // Where the server must look first.
      fs.rmSync(join(folder, 'postgres/global/pg_control'));
      await kill(folder);
      const said = await run.failure();
      expect(said).toMatch(/^petstore: The embedded PostgreSQL has ended 5 times in a row, [^\n]+\n$/m);
      expect(postgresOn(folder)).toEqual([]);
    },
  );

  test('again and again ends the service', async () => {
    const run = nodeStart({ DATA_DIR, LOG_LEVEL: 'error', SHUTDOWN_GRACE_MS: '500' });
    await run.ready();
    const failure = run.failure();
    let isOver = false;
    void run.end.then(() => (isOver = true));
    await eventually(async () => {
      if (postgresOn(DATA_DIR).length > 0) signalPostgresOn(DATA_DIR, 'SIGKILL');
      return isOver;
    });
    expect(await failure).toMatch(/^petstore: The embedded PostgreSQL has ended 5 times in a row/m);
  });
});

test('The log of the embedded PostgreSQL is private, bounded, and holds nothing of a row', async () => {
  const DATA_DIR = join(newFolder(), 'data');
  const run = nodeStart({ DATA_DIR });
  await run.ready();
  const url = urlOf(DATA_DIR);
  const insert = `INSERT INTO accounts (email, password_hash) VALUES ('secret@example.com', '-')`;
  await query(url, insert);
  await expect(query(url, insert)).rejects.toThrow('accounts_email_key');
  await expect(query(url, `SELECT 'secret'::int`)).rejects.toThrow('secret');
  await expect(query(url, 'SELECT $1::int', ['secret'])).rejects.toThrow('secret');
  // The server reports what a session that dies was doing.
  const session = new Client({ connectionString: url });
  session.on('error', () => {});
  await session.connect();
  const dying = session.query(`SELECT pg_sleep(60), 'secret@example.com'`).catch(() => {});
  const find = `SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'`;
  let pid: number | undefined;
  await eventually(async () => Boolean((pid = (await query<{ pid: number }>(url, find))[0]?.pid)));
  process.kill(pid!, 'SIGKILL');
  await dying;
  const log = () => fs.readFileSync(join(DATA_DIR, 'postgres.log'), 'utf8');
  await eventually(() => log().includes('terminated by signal 9'));
  const texts = fs.globSync(['*.log*', 'postgres/log/*'], { cwd: DATA_DIR });
  expect(texts).toContain('postgres.log');
  for (const name of texts) {
    expect(fs.readFileSync(join(DATA_DIR, name), 'utf8')).not.toMatch(/secret|DETAIL|STATEMENT/);
    expect(fs.statSync(join(DATA_DIR, name)).mode & 0o777).toBe(0o600);
  }
  // Another user may pass through to the files that belong to it: PostgreSQL's, if the service is root.
  expect(fs.statSync(DATA_DIR).mode & 0o777).toBe(isRoot ? 0o710 : 0o700);
  await run.stop();
});

test('The embedded PostgreSQL has as many connections as the workers may use', async () => {
  const DATA_DIR = newFolder();
  const run = nodeStart({ DATA_DIR, WORKERS: '2', DATABASE_POOL_SIZE: '100' });
  await run.ready();
  const [setting] = await query<{ max_connections: string }>(urlOf(DATA_DIR), 'SHOW max_connections');
  expect(Number(setting!.max_connections)).toBeGreaterThan(2 * 100);
  await run.stop();
});

test('A data folder of another PostgreSQL ends the start with a line that says what to do', async () => {
  const DATA_DIR = newFolder();
  fs.mkdirSync(join(DATA_DIR, 'postgres'));
  fs.writeFileSync(join(DATA_DIR, 'postgres/PG_VERSION'), '15\n');
  const said = await nodeStart({ DATA_DIR }).failure();
  expect(said).toMatch(/^petstore: [^\n]+ is of PostgreSQL 15, and this release brings \d+\. [^\n]+\n$/);
  expect(said).toContain('pg_dump and pg_restore');
  expect(await admin(['accounts', 'list'], { DATA_DIR })).toEqual({ code: 1, stdout: '', stderr: said });
});

test('A Linux without glibc ends the start with a line that says what to do', async () => {
  const DATA_DIR = newFolder();
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent('process.report.getReport = () => ({ header: {} });')}`;
  const said = await nodeStart({ DATA_DIR, NODE_OPTIONS }).failure();
  expect(said).toMatch(/^petstore: The embedded PostgreSQL needs glibc[^\n]+ Set DATABASE_URL [^\n]+\n$/);
  expect(fs.readdirSync(DATA_DIR)).toEqual([]);
});

describe('A database lost while the demo key is stored', () => {
  const DATA_DIR = newFolder();
  beforeAll(async () => {
    const first = nodeStart({ DATA_DIR });
    await first.ready();
    const gone = `RAISE EXCEPTION 'terminating connection' USING ERRCODE = '57P01'`;
    await query(
      urlOf(DATA_DIR),
      `CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.4); ${gone}; END $$;
       CREATE TRIGGER leave BEFORE INSERT OR UPDATE OR DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION leave();
       CREATE TRIGGER leave BEFORE INSERT OR UPDATE OR DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION leave()`,
    );
    await first.stop();
  });

  test.each(['1', '2'])(
    'ends the start with a line, before it is ready, with WORKERS=%s',
    async (WORKERS) => {
      fs.rmSync(join(DATA_DIR, 'demo-key'), { force: true });
      const PORT = String(await claimPort(0));
      const run = nodeStart({ DATA_DIR, WORKERS, PORT });
      let isOver = false;
      void run.end.then(() => (isOver = true));
      const failure = run.failure();
      const statuses = new Set<number | undefined>();
      await eventually(async () => {
        const answer = await fetch(`http://127.0.0.1:${PORT}/health/ready`).catch(() => undefined);
        statuses.add(answer?.status);
        return isOver;
      });
      expect(await failure).toMatch(/^petstore: The database cannot be reached: [^\n]+\n$/);
      expect([...statuses]).toEqual([undefined]);
    },
  );
});

describe('A data folder', () => {
  const DATA_DIR = newFolder();
  beforeAll(async () => {
    const run = nodeStart({ DATA_DIR });
    await (await run.ready()).createPet('Luna');
    await run.stop();
  });

  test.each<[string, (file: string) => void]>([
    ['is empty', (file) => fs.truncateSync(file)],
    ['holds zeros', (file) => fs.writeFileSync(file, Buffer.alloc(48))],
    ['is gone', (file) => fs.rmSync(file)],
  ])('whose password %s after a crash is served with a new one, and all its data', async (_state, lose) => {
    lose(join(DATA_DIR, 'password'));
    fs.writeFileSync(join(DATA_DIR, 'password.new'), 'half');
    const next = nodeStart({ DATA_DIR });
    expect((await (await next.ready()).listPets()).names).toEqual(['Luna']);
    expect(await query(urlOf(DATA_DIR), 'SELECT name FROM pets')).toEqual([{ name: 'Luna' }]);
    expect(fs.statSync(join(DATA_DIR, 'password')).mode & 0o777).toBe(0o600);
    expect(fs.readFileSync(join(DATA_DIR, 'postgres.log'), 'utf8')).not.toContain(
      fs.readFileSync(join(DATA_DIR, 'password'), 'utf8'),
    );
    await next.stop();
  });
});
