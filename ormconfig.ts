import { DataSource } from 'typeorm';
import { type Config, loadConfig } from './src/config.js';
import { sessionOptions } from './src/platform/database/connection-options.js';
import { fail, OperatorError } from './src/platform/process/operator-error.js';

const built = (pattern: string) => new URL(`./src/${pattern}`, import.meta.url).pathname;

/** Ends the process itself: what is thrown here, TypeORM's command line reports as a file that it cannot open. */
function readOrFail(): Config {
  try {
    const config = loadConfig();
    if (config.DATABASE_URL) return config;
    throw new OperatorError('Set DATABASE_URL to the server whose schema you want to change.');
  } catch (error) {
    return fail(error);
  }
}

/** For TypeORM's command line, on the build: `npm run migration:generate -- src/migrations/name`. */
export default new DataSource({
  ...sessionOptions(readOrFail()),
  entities: [built('**/*.entity.js')],
  migrations: [built('migrations/*.js')],
});
