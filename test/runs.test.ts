import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { query } from '../src/testing/service.js';
import { eventually, isServed, ROOT, signalIfThere } from './support/npm.js';

const run = promisify(execFile);

test('What a test has started ends with its file, also where it has failed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-left-'));
  const told = join(folder, 'pid');
  writeFileSync(
    join(folder, 'left.test.js'),
    `const { spawn } = require('node:child_process');
     beforeAll(() => {
       const child = spawn('sh', ['-c', 'sleep 100 & echo $! > ${told}; wait'], { stdio: 'pipe' });
       return new Promise((_resolve, reject) => setTimeout(reject, 500, new Error('no')));
     });
     test('is not reached', () => {});`,
  );
  const testEnvironment = fileURLToPath(new URL('../dist/src/testing/environment.js', import.meta.url));
  const config = JSON.stringify({ rootDir: folder, testEnvironment });
  const args = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--config', config];
  // A run that waited for it would be ended by a signal.
  await expect(run(process.execPath, args, { timeout: 40_000 })).rejects.toMatchObject({ code: 1 });
  const pid = Number(readFileSync(told, 'utf8'));
  await eventually(() => !signalIfThere(pid, 0));
  rmSync(folder, { recursive: true });
});

test('What a test has started ends soon after a run that is killed, its PostgreSQL too', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-killed-'));
  const told = join(folder, 'told');
  const file = join(ROOT, 'test', `killed-${process.pid}.test.ts`);
  writeFileSync(
    file,
    `import { writeFileSync } from 'node:fs';
     import { startService } from '../src/testing/service.js';
     test('is killed', async () => {
       const { process: child, url, databaseUrl } = await startService({ WORKERS: '2' });
       writeFileSync(${JSON.stringify(told)}, JSON.stringify({ pid: child.pid, url, databaseUrl }));
       await new Promise(() => {});
     });`,
  );
  const args = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--runTestsByPath', file];
  const env = { ...process.env, TEST_SERVER_URL: undefined };
  const killed = spawn(process.execPath, args, { cwd: ROOT, env, stdio: 'ignore' });
  await eventually(() => existsSync(told), 60_000).finally(() => rmSync(file));
  const { pid, url, databaseUrl } = JSON.parse(readFileSync(told, 'utf8'));
  killed.kill('SIGKILL');
  await eventually(() => !signalIfThere(pid, 0));
  await eventually(async () => !(await isServed(url)));
  await eventually(() =>
    query(databaseUrl, 'SELECT').then(
      () => false,
      () => true,
    ),
  );
  rmSync(folder, { recursive: true });
});
