import { globSync } from 'node:fs';
import { Client, type QueryConfig } from 'pg';
import { DataSource } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { Config } from '../../src/config.js';
import { commandOptions } from '../../src/platform/database/connection-options.js';
import { prepareSession } from '../../src/platform/database/session-settings.js';
import { ROOT } from './npm.js';

const PATIENCE_MS = 30_000;

/** A statement as it was sent to PostgreSQL. */
export interface Sent {
  text: string;
  values: unknown[];
  /** False for statements that PostgreSQL plans for their values alone. */
  isPrepared?: boolean;
}

/** The service's connections in the test's own process, and what they have sent, in order. */
export interface Connected {
  database: DataSource;
  sent: Sent[];
}

async function loadEntities(): Promise<Function[]> {
  const files = globSync('src/**/*.entity.ts', { cwd: ROOT });
  const modules = await Promise.all(files.map((file) => import(`../../${file.replace(/\.ts$/, '.js')}`)));
  return modules
    .flatMap((module) => Object.values(module as object))
    .filter((one) => typeof one === 'function');
}

/** Connects to a database; without `more`, to that of a service, whose schema already exists. */
export async function connect(
  databaseUrl: string,
  more: Partial<PostgresDataSourceOptions> = {},
): Promise<Connected> {
  // Long time-outs: a slow answer on a busy machine is no fault.
  const options = commandOptions(Object.assign(new Config(), { DATABASE_URL: databaseUrl }));
  const sent: Sent[] = [];
  const extra: object = { max: 10, pipeline: true, Client: recording(sent), onConnect: prepareSession };
  const connectTimeoutMS = PATIENCE_MS;
  const entities = more.entities ?? (await loadEntities());
  const database = await new DataSource({
    ...options,
    ...more,
    connectTimeoutMS,
    extra,
    entities,
  }).initialize();
  return { database, sent };
}

/** A client that records its statements, except those that prepare a connection. */
function recording(sent: Sent[]): typeof Client {
  return class extends Client {
    override query = ((...args: unknown[]) => {
      const [what, values] = args as [string | QueryConfig, unknown?];
      const { text, values: its = values } = typeof what === 'string' ? { text: what } : what;
      if (!/^SET |server_encoding/.test(text)) sent.push({ text, values: Array.isArray(its) ? its : [] });
      return (super.query as (...all: unknown[]) => unknown)(...args);
    }) as Client['query'];
  };
}
