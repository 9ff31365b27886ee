import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { type ClientRequest, request } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join, matchesGlob } from 'node:path';
import type { Readable } from 'node:stream';
import { Client } from 'pg';
import { createKey } from '../../src/testing/client.js';
import { readConfig } from '../../src/config.js';
import { readText, warningsOf } from '../../src/load-config.js';
import {
  endRuns,
  eventually,
  isServed,
  newFolder,
  nodeStart,
  npmStart,
  postgresOn,
  removeFolders,
  ROOT,
  Run,
  signalPostgresOn,
  type Told,
  runNode,
} from '../support/npm.js';
import {
  createDatabase,
  listening,
  query,
  type Service,
  sharedService,
  startService,
} from '../../src/testing/service.js';

/** A write whose head has been read, and that can go on. */
async function beginWrite(service: Service): Promise<ClientRequest> {
  const Authorization = `Bearer ${await createKey(service)}`;
  const headers = { Authorization, 'Content-Type': 'application/json', Expect: '100-continue' };
  const post = request(`${service.url}/v1/pets`, { method: 'POST', headers }).on('error', () => {});
  post.flushHeaders();
  await once(post, 'continue');
  return post;
}

/** PostgreSQL refuses to run as root, so there the service runs it as this user, who owns nothing else. */
const NOBODY = { uid: 65_534, gid: 65_534 };
const isRoot = process.getuid!() === 0;
const hasSetpriv = fs.existsSync('/usr/bin/setpriv');

afterEach(endRuns);
afterAll(removeFolders);

describe('a start on an empty folder', () => {
  test('in a folder closed to others prints the addresses, the data folder and a demo key, which work', async () => {
    const DATA_DIR = join(newFolder(), 'data');
    expect(fs.statSync(join(DATA_DIR, '..')).mode & 0o777).toBe(0o700);
    const run = npmStart({ DATA_DIR });
    const told = await run.ready();
    const { api, docs, key } = told;
    const table = `API         ${api}\n  Swagger UI  ${docs}\n  Data        ${DATA_DIR}\n  Demo key    ${key}\n`;
    expect(run.stdout).toContain(`\n  Pet store is running\n\n  ${table}`);
    expect(docs).toBe(api.replace(/v1$/, 'docs'));
    expect(api).toMatch(/^http:\/\/localhost:\d+\/v1$/);
    expect((await told.listPets()).status).toBe(200);
    expect((await fetch(docs)).status).toBe(200);
    if (isRoot) expect(fs.statSync(join(DATA_DIR, 'postgres'))).toMatchObject(NOBODY);
    await run.stop();
  });

  test('recovers from one that lost power while it set up its database', async () => {
    const DATA_DIR = newFolder();
    const killed = nodeStart({ DATA_DIR });
    await eventually(() => fs.globSync('*/PG_VERSION', { cwd: DATA_DIR }).length > 0);
    killed.signal('SIGKILL');
    signalPostgresOn(DATA_DIR, 'SIGKILL');
    await killed.end;
    expect(await (await nodeStart({ DATA_DIR }).ready()).listPets()).toEqual({ status: 200, names: [] });
    expect(fs.readdirSync(DATA_DIR).filter((name) => name.includes('new'))).toEqual([]);
  });
});

describe('a start on the data of an earlier one', () => {
  const DATA_DIR = newFolder();
  let first: Told;

  beforeAll(async () => {
    const run = nodeStart({ DATA_DIR });
    first = await run.ready();
    await first.createPet('Luna');
    await run.stop();
  });

  test('has the data and the demo key', async () => {
    const run = nodeStart({ DATA_DIR });
    const told = await run.ready();
    expect((await told.listPets()).names).toContain('Luna');
    expect(told.key).toBe(first.key);
    expect(fs.statSync(join(DATA_DIR, 'demo-key')).mode & 0o777).toBe(0o600);
    await run.stop();
  });

  test.each<[string, (run: Run) => void]>([
    ['SIGTERM only to npm', (run) => run.signal('SIGTERM')],
    ['Ctrl-C, which npm and the service both receive', (run) => run.signalGroup('SIGINT')],
  ])('stops on %s, before npm ends', async (_name, signal) => {
    const run = npmStart({ DATA_DIR });
    const told = await run.ready();
    expect(postgresOn(DATA_DIR)).toHaveLength(1);
    signal(run);
    expect(await run.end).toBe(0);
    expect(postgresOn(DATA_DIR)).toEqual([]);
    expect(await isServed(told.api)).toBe(false);
  });

  test('is refused while the earlier service runs, and has its data after kill -9 of the service, and of its database too', async () => {
    const alone = nodeStart({ DATA_DIR });
    await (await alone.ready()).createPet('Milo');
    const second = await nodeStart({ DATA_DIR }).failure();
    expect(second).toMatch(/^petstore: Another service is running on the data in .*DATA_DIR\.\n$/);
    alone.signal('SIGKILL');
    await alone.end;
    expect(postgresOn(DATA_DIR)).toHaveLength(1);
    const both = nodeStart({ DATA_DIR });
    await (await both.ready()).createPet('Nala');
    both.signal('SIGKILL');
    signalPostgresOn(DATA_DIR, 'SIGKILL');
    await both.end;
    const run = nodeStart({ DATA_DIR });
    expect((await (await run.ready()).listPets()).names).toEqual(['Luna', 'Milo', 'Nala']);
    await run.stop();
    expect(postgresOn(DATA_DIR)).toEqual([]);
  });

  test('leaves alone a process that has the pid of a stopped database', async () => {
    const other = spawn('sleep', ['30'], { ...(isRoot && NOBODY), cwd: '/', stdio: 'ignore' });
    fs.writeFileSync(join(DATA_DIR, 'postgres/postmaster.pid'), `${other.pid}\n${DATA_DIR}/postgres\n`);
    await nodeStart({ DATA_DIR }).ready();
    other.kill('SIGTERM');
    expect(await once(other, 'exit')).toEqual([null, 'SIGTERM']);
  });
});

describe('a start that cannot go on says why in one line, ends with 1 and leaves nothing running', () => {
  const secret = 's3cret';
  const withoutPassword = Object.assign(new URL(process.env.TEST_DATABASE_URL!), { password: '' }).href;
  const taken = createServer();
  const port = () => String((taken.address() as AddressInfo).port);
  beforeAll(() => once(taken.listen(0), 'listening'));
  afterAll(() => taken.close());

  test.each<[string, RegExp, () => Record<string, string>]>([
    ['a taken port', /^Port \d+ is taken\. .* with PORT\.$/, () => ({ PORT: port() })],
    [
      'a taken port for metrics',
      /^Port \d+ is taken\. .* with METRICS_PORT\.$/,
      () => ({ METRICS_PORT: port(), WORKERS: '2' }),
    ],
    ['an address of another machine', / HOST is 192\.0\.2\.1: /, () => ({ HOST: '192.0.2.1' })],
    ['a name of no machine', / ENOTFOUND .* HOST is x86_64-linux: /, () => ({ HOST: 'x86_64-linux' })],
    ['a database away', /ECONNREFUSED/, () => ({ DATABASE_URL: `postgres://u:${secret}@127.0.0.1:1/x` })],
    [
      'a database that asks for a password',
      /asks for a password, and its URL has none/,
      () => ({ DATABASE_URL: withoutPassword }),
    ],
  ])('%s, before it sets anything up', async (_name, line, env) => {
    const DATA_DIR = join(newFolder(), 'data');
    const run = nodeStart({ DATA_DIR, ...env() });
    const said = await run.failure();
    expect(said).toMatch(/^petstore: [^\n]+\n$/);
    expect(said.trim().slice('petstore: '.length)).toMatch(line);
    expect(run.stdout + said).not.toContain(secret);
    expect(fs.existsSync(DATA_DIR)).toBe(false);
  });

  (isRoot && hasSetpriv ? test : test.skip)('root without the right to become another user', async () => {
    const DATA_DIR = join(newFolder(), 'data');
    const none = ['--bounding-set=-setuid,-setgid', '--inh-caps=-setuid,-setgid'];
    fs.chmodSync(join(DATA_DIR, '..'), 0o755);
    const run = new Run('setpriv', [...none, process.execPath, 'dist/src/main.js'], { DATA_DIR });
    expect(await run.failure()).toMatch(
      /^petstore: PostgreSQL does not run as root, .* set DATABASE_URL .*\n$/,
    );
  });
});

test('a build whose texts have the line ends of Windows serves the same pages', async () => {
  const copy = newFolder();
  fs.cpSync(join(ROOT, 'dist'), join(copy, 'dist'), { recursive: true });
  fs.copyFileSync(join(ROOT, 'package.json'), join(copy, 'package.json'));
  fs.symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  for (const name of fs.globSync('dist/**/*.{js,json,md,html,css,svg,http}', { cwd: copy })) {
    const text = fs.readFileSync(join(copy, name), 'utf8');
    fs.writeFileSync(join(copy, name), text.replaceAll(/\r?\n/g, '\r\n'));
  }
  const ours = sharedService();
  const theirs = await startService({}, join(copy, 'dist/src/main.js'));
  const page = async ({ url }: { url: string }, path: string) =>
    (await (await fetch(url + path)).text())
      .replaceAll('\r\n', '\n')
      .replaceAll(url, '')
      .replaceAll(/assets\/[\da-f]{16}/g, 'assets');
  const guides = fs.globSync('*.md', { cwd: join(ROOT, 'docs/guides'), exclude: ['README.md'] });
  const pages = guides.map((name) => `/guides/${name.replace('.md', '')}`);
  for (const path of ['/', '/docs', '/guides', '/openapi.yaml', ...pages])
    expect(await page(theirs, path)).toBe(await page(ours, path));
  expect(await theirs.stop()).toBe(0);
});

test.each([
  ['start', 'There is no build. Run npm ci, or npm run build if npm runs no scripts here.'],
  [
    'build',
    'The build needs the development dependencies, which npm has left out (NODE_ENV=production or --omit=dev). Run npm ci --include=dev.',
  ],
])('npm run %s says in a line what npm has left out', async (script, line) => {
  const cwd = newFolder();
  for (const name of ['package.json', '.npmrc']) fs.copyFileSync(join(ROOT, name), join(cwd, name));
  const env = { npm_config_update_notifier: 'false' };
  expect(await new Run('npm', ['run', script], env, cwd).failure()).toBe(`petstore: ${line}\n`);
});

test.each(['main.js', 'commands/petstore.js doctor'])(
  '%s names the Node of npm to an older one',
  async (program) => {
    const older = `data:text/javascript,${encodeURIComponent(
      `import module from 'node:module';
     delete Map.prototype.getOrInsertComputed; delete module.findPackageJSON; module.syncBuiltinESMExports();`,
    )}`;
    const args = [`--import=${older}`, ...`dist/src/${program}`.split(' ')];
    expect((await runNode(args)).stderr).toBe(
      `petstore: The service needs Node 26, but this is ${process.version}. \`npm start\` uses the Node 26 that npm has installed.\n`,
    );
  },
);

test('a start reports the missing import of a module, and nothing else', async () => {
  const run = new Run(process.execPath, ['test/support/with-missing-import.js'], { DATA_DIR: newFolder() });
  const said = await run.failure();
  expect(said).toContain("Nest can't resolve dependencies of the Lonely");
  expect(said).not.toContain('Unable to connect');
});

const hasScript = fs.existsSync('/usr/bin/script');
(hasScript ? test : test.skip)(
  'on a terminal, a request is one line, and Ctrl-C says what happens',
  async () => {
    // Without `exec`, a shell such as dash ends of the Ctrl-C itself, and hides how the service has ended.
    const args = ['-qec', `exec '${process.execPath}' dist/src/main.js`, '/dev/null'];
    const env = { ...process.env, PORT: '0', DATABASE_URL: await createDatabase('TEMPLATE migrated') };
    const terminal = spawn('script', args, { cwd: ROOT, env });
    let shown = '';
    terminal.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text.replaceAll('\r', '')));
    await eventually(() => /Data .*\n/.test(shown));
    const [, api] = /API +(\S+)/.exec(shown)!;
    await fetch(`${api}/pets`);
    await fetch(new URL('/nowhere', api));
    await eventually(() => shown.includes('route_not_found'));
    terminal.stdin.write('\u0003');
    expect((await once(terminal, 'close'))[0]).toBe(0);
    // oxlint-disable-next-line no-control-regex -- the colours of a terminal
    const lines = shown.replaceAll(/\u001b\[\d+m/g, '').split('\n');
    const about = lines.slice(lines.findIndex((line) => line.includes('INFO'))).filter(Boolean);
    expect(about).toEqual([
      expect.stringMatching(/^\[[\d:.]+\] INFO: GET \/v1\/pets 401 missing_api_key \d+ ms$/),
      expect.stringMatching(/^\[[\d:.]+\] INFO: GET 404 route_not_found \d+ ms$/),
      '^C',
      '  Stopping: requests under way are answered first.',
      '  Stopped.',
    ]);
  },
);

describe('on a database elsewhere', () => {
  test('three that start at once migrate it once, and print no demo key', async () => {
    const DATABASE_URL = await createDatabase();
    const all = [1, 2, 3].map(() => nodeStart({ DATABASE_URL }));
    for (const told of await Promise.all(all.map((run) => run.ready()))) {
      expect(await isServed(told.api)).toBe(true);
      expect(told).toMatchObject({ data: 'the server of DATABASE_URL', key: '' });
    }
    const rows = await query<{ name: string }>(DATABASE_URL, 'SELECT name FROM migrations');
    const files = fs.globSync('src/{migrations,*/migrations}/*.ts', { cwd: ROOT });
    expect([rows.length, new Set(rows.map(({ name }) => name)).size]).toEqual([files.length, files.length]);
    await Promise.all(all.map((run) => run.stop()));
  });

  test('one that waits for its turn to migrate stops at once on SIGTERM', async () => {
    const DATABASE_URL = await createDatabase();
    const other = new Client({ connectionString: DATABASE_URL });
    await other.connect();
    await other.query('SELECT pg_advisory_lock(7387001)');
    const run = nodeStart({ DATABASE_URL });
    const waiting =
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT pg_try_advisory_lock%'";
    await eventually(async () => (await other.query(waiting)).rowCount! > 0);
    const from = Date.now();
    await run.stop();
    await other.end();
    expect(Date.now() - from).toBeLessThan(5_000);
  });

  test('a request that is under way at SIGTERM is answered, and the service ends right after it', async () => {
    const service = await startService();
    const post = await beginWrite(service);
    const stopped = service.stop();
    await eventually(async () => !(await isServed(service.url)));
    const from = Date.now();
    post.end(JSON.stringify({ name: 'Luna', categoryId: 1 }));
    const [response] = await once(post, 'response');
    expect(response.statusCode).toBe(201);
    expect(await stopped).toBe(0);
    expect(Date.now() - from).toBeLessThan(4_500);
  });
});

test('a request that came before SIGTERM is answered, though thousands of its client wait', async () => {
  const service = await startService();
  const asked = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${await createKey(service)}\r\n\r\n`;
  const port = Number(new URL(service.url).port);
  const clients = Array.from({ length: 140 }, () => connect({ port, host: '127.0.0.1' }));
  for (const client of clients) client.on('error', () => {}).write(asked);
  await Promise.all(clients.map((client) => once(client, 'data')));
  const lone = clients.splice(120);
  for (const client of clients) client.write(asked.repeat(100));
  for (const client of lone) client.write(asked);
  const answers = lone.map(
    (client) =>
      new Promise<string>((resolve) => {
        client.once('data', (first: Buffer) => resolve(first.toString('latin1', 9, 12)));
        client.once('close', () => resolve('closed'));
      }),
  );
  expect(await service.stop()).toBe(0);
  expect(await Promise.all(answers)).toEqual(lone.map(() => '200'));
});

test('a stop with a body under way ends within the grace period, and the body is not taken', async () => {
  const service = await startService({ SHUTDOWN_GRACE_MS: '1000' });
  const post = await beginWrite(service);
  const closed = new Promise((resolve) => post.once('close', resolve));
  post.write('{"name":"Luna","categoryId":1');
  expect(await service.stop()).toBe(0);
  await closed;
  expect(await query(service.databaseUrl, 'SELECT FROM pets')).toEqual([]);
});

test.each<[string, string, () => number]>([
  ['on a full disk', '1', () => fs.openSync('/dev/full', 'w')],
  ['to a pipe that nobody reads', '1', unreadPipe],
  ['of several workers to a pipe that nobody reads', '2', unreadPipe],
])(
  'a log that cannot be written %s costs lines, and neither a request nor the stop',
  async (_where, WORKERS, open) => {
    const databaseUrl = await createDatabase('TEMPLATE migrated');
    const log = open();
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const own = { PORT: '0', HOST: '127.0.0.1', METRICS_PORT: '0', DATABASE_URL: databaseUrl, WORKERS };
    const child = spawn(process.execPath, ['dist/src/main.js'], {
      env: { PATH, NODE_COMPILE_CACHE, ...own, SHUTDOWN_GRACE_MS: '2000' },
      stdio: ['ignore', 'pipe', log],
    });
    const service = await listening(child as ChildProcessByStdio<null, Readable, null>, databaseUrl);
    // More lines than a pipe holds.
    const request = async () => (await fetch(`${service.url}/v1/pets`)).status;
    for (let i = 0; i < 20; i++)
      expect(new Set(await Promise.all(Array.from({ length: 50 }, request)))).toEqual(new Set([401]));
    const from = Date.now();
    const killed = setTimeout(() => child.kill('SIGKILL'), 20_000);
    expect(await service.stop()).toBe(0);
    clearTimeout(killed);
    expect(Date.now() - from).toBeLessThan(4_500);
    fs.closeSync(log);
  },
);

function unreadPipe(): number {
  const path = join(newFolder(), 'pipe');
  execFileSync('mkfifo', [path]);
  return fs.openSync(path, fs.constants.O_RDWR);
}

test.each([
  ['an exception', 'throw failure()'],
  ['a rejection that nothing handles', 'Promise.reject(failure())'],
])('a process that ends by %s prints name, message and frames, and no other property', async (_how, end) => {
  const failing = `
    // The frames show this text.
    const secret = 's3' + 'cret';
    const failure = () => {
      const cause = Object.assign(new Error('Key is taken'), { detail: secret });
      return Object.assign(new TypeError('Not stored', { cause }), { parameters: [secret], query: secret });
    };
    process.once('SIGUSR2', () => { ${end} });`;
  // Node ends a process that serves for an exception alone.
  const env = { DATABASE_URL: await createDatabase('TEMPLATE migrated'), WORKERS: '2', METRICS_PORT: '0' };
  const main = [`--import=data:text/javascript,${encodeURIComponent(failing)}`, 'dist/src/main.js'];
  const run = new Run(process.execPath, main, env);
  await run.ready();
  run.signal('SIGUSR2');
  const said = await run.failure();
  expect(said).toContain('TypeError: Not stored\n    at ');
  expect(said).toContain('Caused by Error: Key is taken\n    at ');
  expect(said).not.toContain('s3cret');
});

describe('a start that is told to stop', () => {
  /** What a folder holds that it did not before, from the beginning of a start to its end. */
  const MOMENTS = ['lock', 'postgres.new-*', 'postgres/postmaster.pid', 'demo-key'];

  test.each(['1', '2'])(
    'ends with 0 at any moment, leaves nothing behind, and the next one works, with WORKERS=%s',
    async (WORKERS) => {
      const env = { DATA_DIR: newFolder(), WORKERS, LOG_LEVEL: 'warn' };
      for (const moment of MOMENTS) {
        // Some are short, and not to be missed on a busy machine. A stop that comes late has gone through those that follow.
        fs.rmSync(join(env.DATA_DIR, 'demo-key'), { force: true });
        const seen: string[] = [];
        const watcher = fs.watch(env.DATA_DIR, (_event, name) => void seen.push(name ?? ''));
        const run = nodeStart(env);
        const found = () => [...seen, ...fs.globSync(moment, { cwd: env.DATA_DIR })];
        const isSeen = () => found().some((name) => matchesGlob(name, moment));
        await eventually(() => run.stdout.includes('Demo key') || isSeen());
        watcher.close();
        await run.stop();
        expect(run.stderr).toBe('');
        expect(postgresOn(env.DATA_DIR)).toEqual([]);
        expect(fs.readdirSync(env.DATA_DIR).filter((name) => name.includes('new'))).toEqual([]);
      }
      const next = nodeStart(env);
      expect((await (await next.ready()).listPets()).status).toBe(200);
      await next.stop();
    },
  );
});

describe('a file .env', () => {
  test.each<[string, string, string[]]>([
    ['in a language of its own', 'export A = "1" # one\r\n\n# PORT\nB=`x\nno line\n`\nC=it\'s\nD.E-F=', []],
    ['with lines that assign nothing', 'A="\n\n"\nPORT 80\nLOG_LEVEL: warn\nA B=c', ['4', '5', '6']],
    ['of other programs', 'POSTGRES_PASSWORD=x\nHOSTNAME=x\nOTEL_SERVICE_NAME=x\nKEYCLOAK=x', []],
    [
      'with names that are nearly ours',
      'DATABASE_URI=x\nOIDC_ISUER=x\nSIGN_UPS=x\nSIGNUP=x\nlogLevel=x\nPORT_=x\nPORT=80',
      ['DATABASE_URI', 'OIDC_ISUER', 'PORT_', 'SIGNUP', 'SIGN_UPS', 'logLevel'],
    ],
  ])('%s has a warning of each line and name that is not read', (_what, text, about) => {
    const warnings = warningsOf(text, []).map((line) => /^Line (\d+)|^\S+/.exec(line)!);
    expect(warnings.map(([all, number]) => number ?? all).toSorted()).toEqual(about);
  });

  test('gets a warning for an unknown name, as the environment does, unless other programs use the name', () => {
    const others = ['DATABASE_SERVICE_HOST', 'MESSAGES_PORT_80_TCP', 'LOG_DIR', 'HOSTNAME', 'DATA'];
    expect(warningsOf('SIGN_UPS=closed', ['SIGN_UPS', ...others])).toEqual([
      'SIGN_UPS is set, but the service has no such variable.',
    ]);
  });

  test('is read without its byte order mark, below what the environment says, and shown by names alone', async () => {
    const cwd = newFolder();
    const text = '\uFEFFPORT=s3cret\r\nWORKERS=s3cret\r\nSIGN_UPS=s3cret\r\nmy s3cret\r\n';
    fs.writeFileSync(join(cwd, '.env'), text);
    const run = new Run(process.execPath, [join(ROOT, 'dist/src/main.js')], { WORKERS: '0', PORT: '' }, cwd);
    const lines = (await run.failure()).split('\n');
    expect(lines).toEqual([
      'petstore: Line 4 of .env is ignored: it is no assignment (NAME=value).',
      'petstore: SIGN_UPS is set, but the service has no such variable.',
      'petstore: Invalid environment: WORKERS must not be less than 1.',
      '',
    ]);
  });

  test.each<[string, RegExp, (file: string) => void]>([
    ['UTF-16', /is not UTF-8/, (file) => fs.writeFileSync(file, '\uFEFFPORT=80', 'utf16le')],
    ['UTF-16 without a mark', /is not UTF-8/, (file) => fs.writeFileSync(file, 'PORT=80', 'utf16le')],
    ['Latin 1', /is not UTF-8/, (file) => fs.writeFileSync(file, 'A=é', 'latin1')],
    ['a folder', /cannot be read: EISDIR/, (file) => fs.mkdirSync(file)],
  ])('that is %s is refused by its path', (_what, reason, write) => {
    const file = join(newFolder(), '.env');
    write(file);
    expect(() => readText(file)).toThrow(reason);
    expect(() => readText(file)).toThrow(file);
  });
});

test.each([
  ['WORKERS', 1, 64],
  ['DATABASE_POOL_SIZE', 1, 1_000],
  ['OPERATION_MAX_SECONDS', 3, 30],
  ['AUTH_LIMIT_PER_MINUTE', 0, 1_000_000],
  ['AUDIT_RETENTION_DAYS', 1, 36_500],
  ['KEY_LIMIT_PER_MINUTE', 0, 100_000_000],
  ['TRUST_PROXY', 0, 10],
  ['MESSAGES_RETRY_MAX_SECONDS', 1, 86_400],
  ['MESSAGES_CONCURRENCY', 1, 10_000],
  ['MESSAGES_RETENTION_DAYS', 1, 36_500],
  ['KEEP_ALIVE_SECONDS', 1, 3_600],
  ['SHUTDOWN_GRACE_MS', 0, 600_000],
])('%s is refused below %i and above %i, with its name and the bound', (name, least, most) => {
  const read = (value: number) => () => readConfig({ [name]: String(value) });
  expect(read(most + 1)).toThrow(`${name} must not be greater than ${most}`);
  expect(read(least - 1)).toThrow(`${name} must not be less than ${least}`);
});

describe('the configuration', () => {
  const URLS = ['DATABASE_URL', 'DATABASE_DIRECT_URL', 'DATABASE_REPLICA_URLS'];

  test('names all that is wrong at once, by names alone', () => {
    const bad = { PORT: '0x10', DATABASE_URL: 's3cret', BASE_URL: 's3cret', LOG_LEVEL: 's3cret' };
    expect(() => readConfig(bad)).toThrow(
      /^Invalid environment: PORT [^;]+; BASE_URL [^;]+; DATABASE_URL [^;]+; LOG_LEVEL (?!.*s3cret)[^;]+$/,
    );
  });

  test.each(['10.0', '1e1', '0xa', ' 10', '+10', '010.5', '-0'])('takes no integer written as %j', (text) => {
    const read = () => readConfig({ KEEP_ALIVE_SECONDS: text });
    expect(read).toThrow('Invalid environment: KEEP_ALIVE_SECONDS ');
  });

  test('refuses a password in the addresses that clients are told', () => {
    for (const name of ['BASE_URL', 'STAGING_URL', 'API_URL'])
      expect(() => readConfig({ [name]: 'https://u:s3cret@api.example/v1' })).toThrow(
        new RegExp(`^Invalid environment: ${name} (?!.*s3cret)`),
      );
  });

  test.each([
    'postgresql://u:s3cret@/shop?host=/var/run/postgresql',
    ...['postgresql://u:s3cret@%2Fcloudsql%2Fshop%3Aeu%3Aone/shop', 'postgresql:///shop'],
    'postgresql://u:s3@cret@db_1/shop',
    'postgres://u:s3%23cret@[::1]:5433/shop?sslmode=verify-full&user=a@b',
    'postgresql://u:s3,cret@[::1]/shop?target_session_attrs=read-write',
    'postgresql://u:s3cret@one/shop?options=-c%20search_path=a,b',
  ])('takes %s, as the driver does', (url) => {
    // A comma separates the URLs of replicas.
    const names = url.includes(',') ? URLS.slice(0, 2) : URLS;
    for (const name of names) expect(readConfig({ [name]: url })).toHaveProperty(name, url);
  });

  test.each([
    ...['mysql://u:s3cret@db/shop', 'postgresql://u:s3cret#x@db/shop'],
    ...['postgresql://u:12#s3cret@db/shop', 'postgresql://u:s3cret/x@db/shop'],
    ...['postgresql://u:12/s3cret@db/shop', 'postgresql://u:s3cret?x@db/shop'],
    ...['postgresql://u:s3cret%@db/shop', 'postgresql://u:s3cret%FF@db/shop'],
    ...['postgresql://u:s3cret@db:65536/shop', 'postgresql://u:s3cret@db:x/shop'],
    'postgresql://u:s3cret@one:5432,two:5433/shop',
    'postgres://u:s3cret@one,[::1]:5433,10.0.0.1/shop?target_session_attrs=primary',
    'postgresql://one,two',
  ])('refuses %s, and says without the password what it must be', (url) => {
    for (const name of URLS) {
      const given = name === 'DATABASE_REPLICA_URLS' ? `postgresql://db,${url}` : url;
      const read = () => readConfig({ [name]: given });
      expect(read).toThrow(`Invalid environment: ${name} must be a postgresql:// URL with one host`);
      expect(read).toThrow('# % / ? in its user and password written as %23 %25 %2F %3F');
      expect(read).not.toThrow('s3cret');
    }
  });
});
