#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Type } from '@nestjs/common';
import { type PetstoreOptions, startPetstore } from '../index.js';
import { loadParts } from '../load-features.js';
import type { Surroundings } from './command.js';

// `petstore <command>`, in the folder of a service: its package.json says under `petstore` in which file its `features` are,
// which of the pet store's it does `without`, and what it says of itself as a `product`.

/** Each command, and how it begins; a service's own features are loaded when it asks for them. */
const COMMANDS: Record<string, () => Promise<unknown>> = {
  start: () => startPetstore(CHOICE),
  migrate: async () => end((await import('./migrate.js')).migrateCommand),
  openapi: async () => (await import('./openapi.js')).writeDocument(await loadParts(CHOICE)),
  admin: async () => end((await import('./admin/main.js')).admin),
  jobs: async () => end((await import('./jobs.js')).jobs),
  new: () => import('../../schematics/new.js'),
  'new:feature': () => import('../../schematics/main.js'),
};

const { petstore } = existsSync('package.json') ? JSON.parse(readFileSync('package.json', 'utf8')) : {};
const CHOICE: PetstoreOptions = { features, without: petstore?.without, product: petstore?.product };

const [name = '', ...rest] = process.argv.slice(2);
const run = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
if (run) {
  // The next on this machine has less to compile.
  module.enableCompileCache?.();
  // Each reads its own arguments.
  if (name !== 'start') process.argv.splice(2, Infinity, ...rest);
  await run();
} else {
  console.error(`Usage: petstore <${Object.keys(COMMANDS).join(' | ')}> [options]`);
  process.exitCode = 2;
}

/** Runs a command line, with whose status the process then ends. */
async function end(commands: (args: string[], surroundings: Surroundings) => Promise<number>): Promise<void> {
  const { Lifecycle } = await import('../platform/process/index.js');
  const { loadConfig } = await import('../load-config.js');
  // Whatever reads the output, such as `head`, has read enough.
  process.stdout.on('error', () => process.exit(1));
  process.exitCode = await commands(rest, {
    config: () => loadConfig(CHOICE),
    parts: () => loadParts(CHOICE),
    life: new Lifecycle(1),
    streams: process,
  });
}

/** The features that the service in this folder adds: what the file named in its package.json exports as FEATURES. */
async function features(): Promise<readonly Type[]> {
  if (!petstore?.features) return [];
  const { FEATURES } = await import(pathToFileURL(resolve(petstore.features)).href);
  return FEATURES;
}
