import { DataSource } from 'typeorm';
import { loadConfig, StartupError } from './src/config.js';
import { sessionOptions } from './src/database/data-source.js';

const built = (pattern: string) => new URL(`./src/${pattern}`, import.meta.url).pathname;

const config = loadConfig();
if (!config.DATABASE_URL)
  throw new StartupError('Set DATABASE_URL to the server whose schema this is about.');

/** For TypeORM's command line, on the built output: `npm run migration:generate -- src/migrations/name`. */
export default new DataSource({
  ...sessionOptions(config),
  entities: [built('**/*.entity.js')],
  migrations: [built('migrations/*.js')],
});
