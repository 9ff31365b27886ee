import * as fs from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { Client } from 'pg';
import { connectionsOf } from '../../src/platform/database/connection-options.js';
import { EmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.js';
import { explainFailure, explainStart } from '../../src/platform/database/embedded/explain-start.js';
import { readConfig } from '../../src/config.js';
import { query } from '../../src/testing/service.js';
import { jobs } from '../support/commands.js';
import {
  endRuns,
  eventually,
  newFolder,
  nodeStart,
  postgresOn,
  removeFolders,
  ROOT,
  Run,
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

/** What a shell may have for another server, or another program. */
const OTHERS = {
  ...{ PGSSLMODE: 'require', PGOPTIONS: '-c no_such=x', PGSERVICE: 'none', PGHOST: '192.0.2.1', PGPORT: '1' },
  ...{ PGUSER: 'nobody', PGPASSWORD: 'x', PGDATABASE: 'none', PGDATA: '/nowhere', HOST: '' },
  ...{ PGCLIENTENCODING: 'LATIN1', PGSSLNEGOTIATION: 'direct', LC_ALL: 'tr_TR.UTF-8', LD_PRELOAD: '/no.so' },
};

describe('The embedded PostgreSQL that is killed', () => {
  test.each(['1', '2'])(
    'ends the service with a line and 1, and the next start has its data, whatever is in the environment or in .env, with WORKERS=%s',
    async (WORKERS) => {
      const DATA_DIR = newFolder();
      const env = { DATA_DIR, WORKERS, LOG_LEVEL: 'error', SHUTDOWN_GRACE_MS: '500' };
      const run = nodeStart({ ...OTHERS, ...env });
      const told = await run.ready();
      await told.createPet('Luna');
      // A session alone is another matter: the server recovers, and goes on.
      const sessions = `SELECT pid FROM pg_stat_activity WHERE application_name = 'petstore'`;
      const [session] = await query<{ pid: number }>(urlOf(DATA_DIR), sessions);
      process.kill(session!.pid, 'SIGKILL');
      await eventually(async () => (await told.listPets()).status === 200);
      process.kill(Number(lockFile(DATA_DIR)[0]), 'SIGKILL');
      const said = await run.failure();
      expect(said).toMatch(
        /^petstore: The embedded PostgreSQL has ended with SIGKILL(?:: [^\n]+)?\. Its log is [^\n]+\.log\.\n$/m,
      );
      expect(postgresOn(DATA_DIR)).toEqual([]);
      const cwd = newFolder();
      const lines = Object.entries(OTHERS).map(([name, value]) => `${name}="${value}"\n`);
      fs.writeFileSync(join(cwd, '.env'), lines.join(''));
      const next = new Run(process.execPath, [join(ROOT, 'dist/src/main.js')], env, cwd);
      expect((await (await next.ready()).listPets()).names).toEqual(['Luna']);
      process.kill(Number(lockFile(DATA_DIR)[0]), 'SIGKILL');
      // What the server said while it recovered is no reason.
      expect(await next.failure()).not.toMatch(/starting up|not yet accepting/);
      expect(postgresOn(DATA_DIR)).toEqual([]);
    },
  );

  test('and has lost a file ends the next start with a line and 1', async () => {
    const DATA_DIR = newFolder();
    const { postgres } = await EmbeddedPostgres.start(DATA_DIR);
    await postgres.stop();
    // Where the server must look first.
    fs.rmSync(join(DATA_DIR, 'postgres/global/pg_control'));
    const said = await nodeStart({ DATA_DIR, WORKERS: '2' }).failure();
    expect(said).toMatch(/^petstore: The embedded PostgreSQL did not start: [^\n]*pg_control[^\n]*\n$/);
    expect(postgresOn(DATA_DIR)).toEqual([]);
  });
});

test('The embedded PostgreSQL that refuses its own service ends the start with a line at once', async () => {
  const DATA_DIR = newFolder();
  const { postgres } = await EmbeddedPostgres.start(DATA_DIR);
  await postgres.stop();
  fs.writeFileSync(join(DATA_DIR, 'password'), 'another');
  const said = await nodeStart({ DATA_DIR }).failure();
  expect(said).toMatch(
    /^petstore: The embedded PostgreSQL accepts no connection: password authentication failed for user "petstore"\. Its log is [^\n]+\.log\.\n$/,
  );
  expect(postgresOn(DATA_DIR)).toEqual([]);
});

describe('A data folder', () => {
  const DATA_DIR = join(newFolder(), 'data');
  /** Runs on the server of the folder. */
  const serving = async (work: (url: string) => Promise<void>) => {
    const { postgres, url } = await EmbeddedPostgres.start(DATA_DIR, 321);
    await work(url).finally(() => postgres.stop());
    expect(postgresOn(DATA_DIR)).toEqual([]);
  };
  beforeAll(() => serving(async (url) => void (await query(url, 'CREATE TABLE pets (name text UNIQUE)'))));

  test('has a log that is private, bounded, and holds nothing of a row; its server has the connections asked for', async () => {
    await serving(async (url) => {
      expect(await query(url, 'SHOW max_connections')).toEqual([{ max_connections: '321' }]);
      const insert = `INSERT INTO pets VALUES ('secret@example.com')`;
      await query(url, insert);
      await expect(query(url, insert)).rejects.toThrow('pets_name_key');
      await expect(query(url, `SELECT 'secret'::int`)).rejects.toThrow('secret');
      await expect(query(url, 'SELECT $1::int', ['secret'])).rejects.toThrow('secret');
      // The server reports what a session that dies was doing.
      const session = new Client({ connectionString: url });
      session.on('error', () => {});
      await session.connect();
      const { rows } = await session.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      const dying = session.query(`SELECT pg_sleep(60), 'secret@example.com'`).catch(() => {});
      process.kill(rows[0]!.pid, 'SIGKILL');
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
    });
  });

  test('is refused to a command in one line while its server starts or stops', async () => {
    await serving(async () => {
      const file = join(DATA_DIR, 'postgres/postmaster.pid');
      fs.renameSync(file, `${file}.kept`);
      const stderr = `petstore: The database in ${DATA_DIR} is starting or stopping. Try again in a moment.\n`;
      const refused = await jobs(['list'], { DATA_DIR }).finally(() => fs.renameSync(`${file}.kept`, file));
      expect(refused).toEqual({ code: 1, stdout: '', stderr });
    });
  });

  test('without a way to 127.0.0.1 is given up at once, with the reason', async () => {
    const refused = Object.assign(new Error('connect ENETUNREACH 127.0.0.1:5432'), { syscall: 'connect' });
    const connect = jest.spyOn(Socket.prototype, 'connect').mockImplementation(function refuse(this: Socket) {
      return this.destroy(refused);
    });
    const started = EmbeddedPostgres.start(DATA_DIR);
    await expect(started.finally(() => connect.mockRestore())).rejects.toThrow(
      /on 127\.0\.0\.1: connect ENETUNREACH/,
    );
    expect(postgresOn(DATA_DIR)).toEqual([]);
  });

  const older =
    / was written by PostgreSQL 15, but this release has PostgreSQL \d+\. .*pg_dump and pg_restore/;
  const noDatabase = /postgres is not empty, and holds no database\. Choose another folder with DATA_DIR\.$/;
  const written = /cannot be used: EISDIR.*choose another folder with DATA_DIR\.$/;
  const inside = (name: string, make: (path: string) => unknown) => (path: string) => {
    fs.mkdirSync(join(path, 'postgres'), { recursive: true });
    make(join(path, name));
  };
  test.each<[string, RegExp, (path: string) => unknown]>([
    ['of another PostgreSQL', older, inside('postgres/PG_VERSION', (at) => fs.writeFileSync(at, '15\n'))],
    ['of something else', noDatabase, inside('postgres/mine', fs.mkdirSync)],
    ['that another program has written', written, inside('password', fs.mkdirSync)],
    [
      'that is a file',
      /cannot be used: E(?:EXIST|NOTDIR).* choose another/,
      (at) => fs.writeFileSync(at, ''),
    ],
  ])('%s is refused', async (_what, reason, make) => {
    const path = join(newFolder(), 'data');
    make(path);
    await expect(EmbeddedPostgres.start(path)).rejects.toThrow(reason);
    expect(postgresOn(path)).toEqual([]);
  });
});

test('The embedded PostgreSQL allows as many connections as the workers may use', () => {
  const config = readConfig({ WORKERS: '2', DATABASE_POOL_SIZE: '100' });
  expect(connectionsOf(config)).toBeGreaterThan(2 * 100);
});

describe('A failed start of the embedded PostgreSQL', () => {
  const noRight = isRoot
    ? /^PostgreSQL does not run as root, and this process may not run it as another user: .* Start the service as a user other/
    : /^(?:PostgreSQL's program cannot be run|The data folder .* cannot be used): /;
  const notOurs = /^The data folder \/x cannot be used: .* who owns it/;
  const full = /^The data folder \/x cannot be used: .* choose another/;
  const noAddress = /^The .* on 127\.0\.0\.1: .* set DATABASE_URL/;
  test.each<[string, RegExp, object]>([
    ['no right to change users', noRight, { code: 'EPERM', syscall: 'spawn' }],
    ['no other user', noRight, { code: 'EINVAL', syscall: 'chown' }],
    ['no 127.0.0.1', noAddress, { code: 'EADDRNOTAVAIL', syscall: 'listen' }],
    ['a folder of another user', notOurs, { code: 'EACCES', syscall: 'access' }],
    ['a file of another user', notOurs, { errcode: 8 }],
    ['a disk that is full', full, { code: 'ENOSPC', syscall: 'write' }],
    ['a Linux without glibc', /needs glibc.* set DATABASE_URL/, { code: 'ENOENT', syscall: 'spawn initdb' }],
    ['a folder in use', /^Another service is running on the data in \/x\. Stop it/, { errcode: 5 }],
  ])('by %s says so, and what to do', (_what, line, facts) => {
    const error = Object.assign(new Error('the reason'), facts);
    expect(explainStart(error, '/x')).toMatchObject({ message: expect.stringMatching(line) });
  });

  test('without the links that the install script of its package makes names the command that makes them', () => {
    const said = 'initdb: error while loading shared libraries: libpq.so.5: cannot open shared object file\n';
    expect(explainFailure('cannot be set up', said).message).toMatch(
      /^The embedded PostgreSQL cannot be set up: initdb: error while .*\. Run `npm rebuild --ignore-scripts=false`\.$/,
    );
  });
});
