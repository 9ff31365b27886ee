import { DataSource } from 'typeorm';
import { loadConfig } from './src/config.js';
import { sessionOptions } from './src/database/connection-options.js';
import { OperatorError } from './src/operator-error.js';

const built = (pattern: string) => new URL(`./src/${pattern}`, import.meta.url).pathname;

const config = loadConfig();
if (!config.DATABASE_URL)
  throw new OperatorError('Set DATABASE_URL to the server whose schema you want to change.');

/** For TypeORM's command line, on the build: `npm run migration:generate -- src/migrations/name`. */
export default new DataSource({
  ...sessionOptions(config),
  entities: [built('**/*.entity.js')],
  migrations: [built('migrations/*.js')],
});
