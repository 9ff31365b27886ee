import { globSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DataSource } from 'typeorm';
import type { Config } from './src/config.js';
import { loadConfig } from './src/load-config.js';
import { sessionOptions } from './src/platform/database/index.js';
import { fail, OperatorError } from './src/platform/process/index.js';

/** The classes in files of the build. TypeORM would take the path of this folder, such as `a [b]`, for a pattern too. */
async function built(...patterns: string[]): Promise<Function[]> {
  const cwd = join(import.meta.dirname, 'src');
  const files = patterns.flatMap((pattern) => globSync(pattern, { cwd }));
  const modules = await Promise.all(files.map((file) => import(pathToFileURL(join(cwd, file)).href)));
  return modules
    .flatMap((module) => Object.values(module as object))
    .filter((one) => typeof one === 'function');
}

/** Ends the process itself: what is thrown here, TypeORM's command line reports as a file that it cannot open. */
async function readOrFail(): Promise<Config> {
  try {
    const config = await loadConfig();
    if (config.DATABASE_URL) return config;
    throw new OperatorError('Set DATABASE_URL to the server whose schema you want to change.');
  } catch (error) {
    return fail(error);
  }
}

/** For TypeORM's command line, on the build: `npm run migration:generate -- src/migrations/name`. */
export default new DataSource({
  ...sessionOptions(await readOrFail()),
  entities: await built('**/*.entity.js'),
  migrations: await built('migrations/*.js', '*/migrations/*.js'),
});
