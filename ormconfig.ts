import { DataSource } from 'typeorm';
import { readConfig } from './src/config.js';
import { sessionOptions } from './src/database/data-source.js';

const built = (pattern: string) => new URL(`./src/${pattern}`, import.meta.url).pathname;

/** For TypeORM's command line, on the built output: `npm run migration:generate -- src/migrations/name`. */
export default new DataSource({
  ...sessionOptions(readConfig(process.env)),
  entities: [built('**/*.entity.js')],
  migrations: [built('migrations/*.js')],
});
