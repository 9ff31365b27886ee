import { DataSource } from 'typeorm';
import type { Config } from './src/config.js';
import { loadConfig } from './src/load-config.js';
import { sessionOptions } from './src/platform/database/index.js';
import { fail, OperatorError } from './src/platform/process/index.js';

const built = (pattern: string) => new URL(`./src/${pattern}`, import.meta.url).pathname;

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
  entities: [built('**/*.entity.js')],
  migrations: [built('migrations/*.js'), built('*/migrations/*.js')],
});
