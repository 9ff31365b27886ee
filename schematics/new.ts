import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { basename, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { execute, refuseUsage, report } from './run.ts';
import type { ServiceOptions } from './service/index.ts';

// `petstore new my-service`: a repository with a service that depends on this package. Ends with 2 where it was called wrongly.
const USAGE =
  'Usage: petstore new <folder> [--petstore <version, or path of a packed build>] [--no-install], such as: petstore new clinic';
const FEATURE = {
  name: 'visits',
  fields: 'petId:ref(pets) date:date price:money status:enum(planned,done) note?:text(1000)',
  owned: true,
  crud: true,
};

await report(async () => {
  const { folder, petstore, install } = readArguments();
  const manifest = JSON.parse(
    readFileSync(findPackageJSON(import.meta.url)!, 'utf8'),
  ) as ServiceOptions['manifest'] & { version: string };
  const path = resolve(folder);
  const name = basename(path);
  if (!/^[a-z][a-z0-9-]*$/.test(name))
    refuseUsage(`"${name}" is no name of a service: take small letters, digits and "-".`);
  if (existsSync(path) && readdirSync(path).length > 0) refuseUsage(`${folder} is there, and not empty.`);
  mkdirSync(path, { recursive: true });
  process.chdir(path);
  const options = { name, petstore: petstore ?? `^${manifest.version}`, manifest };
  await execute({ schematic: 'service', options });
  await execute({ schematic: 'feature', options: FEATURE });
  if (!install) return console.log(`Next: cd ${folder} && npm install && npm run openapi && npm run format`);
  for (const command of ['install', 'run openapi', 'run format']) npm(...command.split(' '));
  console.log(`Next: cd ${folder} && npm test && npm start`);
});

/** @throws SchematicsException if it fails */
function npm(...args: string[]): void {
  console.log(`npm ${args.join(' ')}`);
  const { status } = spawnSync('npm', args, {
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  });
  if (status !== 0) refuseUsage(`npm ${args.join(' ')} has failed.`);
}

function readArguments(): { folder: string; petstore?: string; install: boolean } {
  try {
    const { values, positionals } = parseArgs({
      options: { petstore: { type: 'string' }, 'no-install': { type: 'boolean', default: false } },
      allowPositionals: true,
    });
    const [folder, ...more] = positionals;
    if (folder !== undefined && more.length === 0) {
      const { petstore } = values;
      const isFile = petstore !== undefined && existsSync(petstore);
      return {
        folder,
        petstore: isFile ? `file:${resolve(petstore)}` : petstore,
        install: !values['no-install'],
      };
    }
  } catch {
    // Unknown options are answered like a name too many.
  }
  return refuseUsage(USAGE);
}
