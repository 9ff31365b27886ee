import * as fs from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { Client } from 'pg';
import { connectionsOf } from '../../src/platform/database/connection-options.js';
import { EmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.js';
import { explainStart } from '../../src/platform/database/embedded/explain-start.js';
import { linkLibraries } from '../../src/platform/database/embedded/programs.js';
import { readConfig } from '../../src/config.js';
import { query } from '../../src/testing/service.js';
import {
  endRuns,
  eventually,
  newFolder,
  nodeStart,
  postgresOn,
  removeFolders,
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

/** What a shell may have for another server, or another program. */
const OTHERS = {
  ...{ PGSSLMODE: 'require', PGOPTIONS: '-c no_such=x', PGSERVICE: 'none', PGHOST: '192.0.2.1', PGPORT: '1' },
  ...{
    PGUSER: 'nobody',
    PGPASSWORD: 'x',
    PGDATABASE: 'none',
    PGDATA: '/nowhere',
    PGCLIENTENCODING: 'LATIN1',
  },
  ...{ PGSSLNEGOTIATION: 'direct', LC_ALL: 'tr_TR.UTF-8', LD_PRELOAD: '/nowhere.so', HOST: '' },
};

describe('The embedded PostgreSQL that is killed', () => {
  test.each(['1', '2'])(
    'is started again with its data and at its address, whatever is in the environment, with WORKERS=%s',
    async (WORKERS) => {
      const DATA_DIR = newFolder();
      const run = nodeStart({ ...OTHERS, DATA_DIR, WORKERS });
      const told = await run.ready();
      await told.createPet('Luna');
      const before = urlOf(DATA_DIR);
      const sessions = `SELECT pid FROM pg_stat_activity WHERE application_name = 'petstore'`;
      const [session] = await query<{ pid: number }>(before, sessions);
      process.kill(session!.pid, 'SIGKILL');
      expect(await recovered(told)).toEqual(['Luna']);
      await kill(DATA_DIR);
      // Once more as it starts.
      await eventually(() => postgresOn(DATA_DIR).length > 0);
      process.kill(postgresOn(DATA_DIR)[0]!, 'SIGKILL');
      expect(await recovered(told)).toEqual(['Luna']);
      await told.createPet('Milo');
      expect(urlOf(DATA_DIR)).toBe(before);
      expect(run.stderr).toContain('The embedded PostgreSQL has ended with SIGKILL and is restarted');
      await run.stop();
      expect(postgresOn(DATA_DIR)).toEqual([]);
    },
  );

  test('and cannot be started ends the service with a line and 1', async () => {
    const folder = newFolder();
    const run = nodeStart({ DATA_DIR: folder, WORKERS: '2', LOG_LEVEL: 'error', SHUTDOWN_GRACE_MS: '500' });
    await run.ready();
    // Where the server must look first.
    fs.rmSync(join(folder, 'postgres/global/pg_control'));
    await kill(folder);
    const said = await run.failure();
    expect(said).toMatch(/^petstore: The embedded PostgreSQL did not start: [^\n]+\n$/m);
    expect(postgresOn(folder)).toEqual([]);
  });
});

describe('A data folder', () => {
  const DATA_DIR = join(newFolder(), 'data');
  /** Runs on the server of the folder. */
  const serving = async (work: (url: string) => Promise<void>) => {
    const { postgres, url } = await EmbeddedPostgres.start(DATA_DIR, { connections: 321 });
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

  test.each<[string, RegExp, (path: string) => void]>([
    [
      'of another PostgreSQL',
      / is of PostgreSQL 15, and this release brings \d+\. .*pg_dump and pg_restore/,
      (path) => {
        fs.mkdirSync(join(path, 'postgres'), { recursive: true });
        fs.writeFileSync(join(path, 'postgres/PG_VERSION'), '15\n');
      },
    ],
    [
      'of something else',
      /postgres is not empty, and holds no database\. Choose another folder with DATA_DIR\.$/,
      (path) => void fs.mkdirSync(join(path, 'postgres/mine'), { recursive: true }),
    ],
    [
      'that another program has written',
      /cannot be used: EISDIR.*choose another with DATA_DIR\.$/,
      (path) => void fs.mkdirSync(join(path, 'password'), { recursive: true }),
    ],
    [
      'that is a file',
      /cannot be used: E(?:EXIST|NOTDIR).* choose another/,
      (path) => fs.writeFileSync(path, ''),
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

test('The start makes the links that npm leaves out when it runs no scripts', () => {
  const folder = newFolder();
  fs.mkdirSync(join(folder, 'native/lib'), { recursive: true });
  for (const name of ['libpq.so.5.18', 'libpq.so']) fs.writeFileSync(join(folder, 'native/lib', name), name);
  const list = (target: string) => [
    { source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so' },
    { source: 'native/lib/libpq.so.5.18', target },
  ];
  const write = (target: string) =>
    fs.writeFileSync(join(folder, 'native/pg-symlinks.json'), JSON.stringify(list(target)));
  write('native/lib/libpq.so.5');
  linkLibraries(folder);
  linkLibraries(folder);
  expect(fs.readlinkSync(join(folder, 'native/lib/libpq.so.5'))).toBe('libpq.so.5.18');
  expect(fs.readFileSync(join(folder, 'native/lib/libpq.so'), 'utf8')).toBe('libpq.so');
  write('native/none/libpq.so.5');
  expect(() => linkLibraries(folder)).toThrow(/ENOENT.*symlink/);
  linkLibraries(newFolder());
});

describe('A failed start of the embedded PostgreSQL', () => {
  const noRight = isRoot
    ? /^PostgreSQL does not run as root, and this process may not run it as another user: .* Start the service as another/
    : /^(?:PostgreSQL's program cannot be run|The data folder .* cannot be used): /;
  const notOurs = /^The data folder \/x cannot be used: .* who owns it/;
  const full = /^The data folder \/x cannot be used: .* choose another/;
  const noAddress = /^The .* on 127\.0\.0\.1: .* set DATABASE_URL/;
  const noLink = /Run `npm rebuild --ignore-scripts=false`\.$/;
  test.each<[string, RegExp, object]>([
    ['no right to change users', noRight, { code: 'EPERM', syscall: 'spawn' }],
    ['no other user', noRight, { code: 'EINVAL', syscall: 'chown' }],
    ['no 127.0.0.1', noAddress, { code: 'EADDRNOTAVAIL', syscall: 'listen' }],
    ['a folder of another user', notOurs, { code: 'EACCES', syscall: 'access' }],
    ['a file of another user', notOurs, { errcode: 8 }],
    ['a disk that is full', full, { code: 'ENOSPC', syscall: 'write' }],
    ['a link that cannot be made', noLink, { code: 'EROFS', syscall: 'symlink' }],
    ['a Linux without glibc', /needs glibc.* set DATABASE_URL/, { code: 'ENOENT', syscall: 'spawn initdb' }],
    ['a folder in use', /^Another service is running on the data in \/x\. Stop it/, { errcode: 5 }],
  ])('by %s says so, and what to do', (_what, line, facts) => {
    const error = Object.assign(new Error('the reason'), facts);
    expect(explainStart(error, '/x')).toMatchObject({ message: expect.stringMatching(line) });
  });
});
