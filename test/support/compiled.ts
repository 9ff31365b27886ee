import { globSync } from 'node:fs';
import { EntityManager } from 'typeorm';
import { Config } from '../../src/config.js';
import { CompiledDataSource } from '../../src/platform/data/compiled-data-source.js';
import { poolOptions } from '../../src/platform/database/connection-options.js';
import { DeadlineClient } from '../../src/platform/database/deadline-client.js';
import { ROOT } from './npm.js';

/** A statement as it was sent to PostgreSQL. */
export interface Sent {
  text: string;
  values: unknown[];
}

/** The service's database layer in the test's own process, beside TypeORM's own. */
export interface Compiled {
  database: CompiledDataSource;
  /** Plain TypeORM. */
  plain: EntityManager;
  /** What the service's own layer has sent, in order. */
  sent: Sent[];
}

/** The class of every entity of the service. */
async function loadEntities(): Promise<Function[]> {
  const files = globSync('src/**/*.entity.ts', { cwd: ROOT });
  const modules = await Promise.all(files.map((file) => import(`../../${file.replace(/\.ts$/, '.js')}`)));
  return modules
    .flatMap((module) => Object.values(module as object))
    .filter((one) => typeof one === 'function');
}

/** Connects to the database of a service, whose schema exists already. */
export async function connectCompiled(databaseUrl: string): Promise<Compiled> {
  const options = poolOptions(Object.assign(new Config(), { DATABASE_URL: databaseUrl }));
  const sent: Sent[] = [];
  const extra: object = { ...options.extra, Client: recording(sent) };
  const database = new CompiledDataSource({ ...options, extra, entities: await loadEntities() });
  await database.initialize();
  return { database, plain: new EntityManager(database), sent };
}

/** The service's client, which also records what it is given. */
function recording(sent: Sent[]): typeof DeadlineClient {
  return class extends DeadlineClient {
    override query(...args: unknown[]): never {
      const [query, values = []] = args as [string | { text: string; values?: unknown[] }, unknown[]?];
      if (typeof query === 'string') sent.push({ text: query, values: Array.isArray(values) ? values : [] });
      else sent.push({ text: query.text, values: query.values ?? [] });
      return super.query(...(args as [string])) as never;
    }
  };
}
