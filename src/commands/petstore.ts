#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Type } from '@nestjs/common';
import { type PetstoreOptions, startPetstore } from '../index.js';
import { loadParts } from '../load-features.js';
import type { CommandEnvironment } from './command.js';

// `petstore <command>` runs in the folder of a service. In its package.json, `petstore` holds the file of the
// service's own `features`, the pet store's features to leave out (`without`), and texts (`product`).

const COMMANDS: Record<string, () => Promise<unknown>> = {
  start: async () => startPetstore(await choice()),
  migrate: () => run(async () => (await import('./migrate.js')).migrateCommand),
  openapi: () => run(async () => (await import('./openapi.js')).openapi),
  admin: () => run(async () => (await import('./admin/commands.js')).admin),
  jobs: () => run(async () => (await import('./jobs.js')).jobs),
  doctor: () => run(async () => (await import('./doctor.js')).doctor),
  new: () => generate('new'),
  'new:feature': () => generate('main'),
};

const [name = '', ...rest] = process.argv.slice(2);
const HELP = ['help', '--help', '-h'];
const start = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
if (start) {
  // Speeds up the next command on this machine.
  module.enableCompileCache?.();
  // Leaves only the command's own arguments in `process.argv`, which the generators read.
  if (name !== 'start') process.argv.splice(2, Infinity, ...rest);
  await start().catch(async (error: unknown) => (await import('../platform/process/index.js')).fail(error));
} else {
  const asksForHelp = HELP.includes(name);
  const usage = `Usage: petstore <${Object.keys(COMMANDS).join(' | ')}> [options]`;
  (asksForHelp ? console.log : console.error)(usage);
  process.exitCode = asksForHelp ? 0 : 2;
}

/** Runs a generator. A container image has no generators, as it has no sources to add to. */
async function generate(file: string): Promise<void> {
  const program = new URL(`../../schematics/${file}.js`, import.meta.url);
  if (existsSync(program)) await import(program.href);
  else
    await refuse(
      'The container image has no generators: run this in a checkout where petstore is installed.',
    );
}

async function refuse(message: string): Promise<never> {
  const { OperatorError } = await import('../platform/process/index.js');
  throw new OperatorError(message);
}

/** Runs a command line, and sets the exit status of the process. */
async function run(
  load: () => Promise<(args: string[], environment: CommandEnvironment) => Promise<number>>,
): Promise<void> {
  const { Lifecycle, onWarning, requireNode } = await import('../platform/process/index.js');
  requireNode();
  const { loadConfig } = await import('../load-config.js');
  onWarning((text) => console.warn(`petstore: ${text}`));
  // The reader of the output, such as `head`, has closed the pipe.
  process.stdout.on('error', () => process.exit(1));
  const options = await choice();
  const command = await load();
  const status = await command(rest, {
    config: () => loadConfig(options),
    parts: () => loadParts(options),
    life: new Lifecycle(1),
    streams: process,
  });
  // A command that has failed may leave an idle connection, which would keep the process for ten seconds.
  process.stdout.write('', () => process.exit(status));
}

/** The options in package.json. @throws OperatorError if they are invalid */
async function choice(): Promise<PetstoreOptions> {
  if (!existsSync('package.json')) return {};
  let found: { petstore?: { features?: unknown } & Omit<PetstoreOptions, 'features'> } | null;
  try {
    found = JSON.parse(readFileSync('package.json', 'utf8'));
  } catch (error) {
    return refuse(`package.json cannot be read: ${(error as Error).message}.`);
  }
  const { features, without, product } = found?.petstore ?? {};
  if (without !== undefined && !Array.isArray(without))
    await refuse('In package.json, petstore.without must be a list of names of features.');
  if (!features) return { without, product };
  if (typeof features !== 'string')
    return refuse('In package.json, petstore.features must be the path of a file.');
  return { features: () => featuresIn(features), without, product };
}

/** The features that a file exports. */
async function featuresIn(path: string): Promise<readonly Type[]> {
  const file = resolve(path);
  if (!existsSync(file))
    await refuse(`There is no ${path}, which package.json names: run npm run build first.`);
  const { FEATURES } = await import(pathToFileURL(file).href);
  if (!Array.isArray(FEATURES)) await refuse(`${path}, which package.json names, exports no list FEATURES.`);
  return FEATURES;
}
