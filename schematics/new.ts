import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { main, readArguments, refuse } from './program.ts';
import { type Manifest, repositoryFiles } from './repository.ts';

// `petstore new clinic` writes a repository with a service on top of this package, and a first feature.
const USAGE = 'Usage: petstore new <folder> [--no-install], such as: petstore new clinic';
const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));

await main(async () => {
  const { name: folder, values } = readArguments(USAGE, { 'no-install': { type: 'boolean' } });
  const installs = !values['no-install'];
  const path = resolve(folder);
  const name = basename(path);
  if (!/^[a-z][a-z0-9-]*$/.test(name))
    refuse(`"${name}" cannot name a service: use lower-case letters, digits and "-".`);
  if (existsSync(path) && readdirSync(path).length > 0) refuse(`${folder} is not empty.`);
  const manifest = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as Manifest;
  for (const [file, text] of repositoryFiles(name, manifest)) {
    mkdirSync(dirname(join(path, file)), { recursive: true });
    writeFileSync(join(path, file), text, { mode: file === '.ci/run' ? 0o755 : 0o644 });
  }
  mkdirSync(join(path, 'vendor'));
  // Without scripts: the package is built already, and its scripts need development packages.
  npm(path, 'pack', PACKAGE, '--ignore-scripts', '--pack-destination', 'vendor');
  const steps = ['install --include=dev', 'run new:feature -- visits --owned', 'run openapi', 'run format'];
  if (installs) for (const step of steps) npm(path, ...step.split(' '));
  const missing = installs ? [] : steps.map((step) => `npm ${step} && `);
  console.log(`Next: cd ${folder} && ${missing.join('')}npm test && npm start`);
});

function npm(cwd: string, ...args: string[]): void {
  console.log(`npm ${args.join(' ')}`);
  const options = { cwd, stdio: 'inherit', shell: process.platform === 'win32' } as const;
  if (spawnSync('npm', args, options).status !== 0) refuse(`npm ${args.join(' ')} has failed in ${cwd}.`);
}
