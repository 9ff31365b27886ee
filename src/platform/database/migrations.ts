import { readdir } from 'node:fs/promises';
import type { MigrationInterface } from 'typeorm';

const FOLDER = new URL('../../migrations/', import.meta.url);

type Migration = new () => MigrationInterface;

/** The classes of `src/migrations`; a new file needs no registration. */
export async function loadMigrations(): Promise<Migration[]> {
  const files = (await readdir(FOLDER)).filter((name) => /^\d+-.+(?<!\.d)\.[jt]s$/.test(name)).toSorted();
  const modules = await Promise.all(files.map((name) => import(new URL(name, FOLDER).href)));
  return modules.flatMap((module) => Object.values(module as Record<string, Migration>));
}
