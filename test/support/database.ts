import { globSync } from 'node:fs';
import type { Client, ClientConfig } from 'pg';
import { DataSource } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { Config } from '../../src/config.js';
import { commandOptions } from '../../src/platform/database/connection-options.js';
import { SET_SESSION } from '../../src/platform/database/session-settings.js';
import { DeadlineClient } from '../../src/platform/database/deadline-client.js';
import { ROOT } from './npm.js';

const PATIENCE_MS = 30_000;

/** A statement as it was sent to PostgreSQL. */
export interface Sent {
  text: string;
  values: unknown[];
}

/** The service's connections in the test's own process, and what they have sent, in order. */
export interface Connected {
  database: DataSource;
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

/** Connects to a database; without other options to that of a service, whose schema exists already. */
export async function connect(
  databaseUrl: string,
  more: Partial<PostgresDataSourceOptions> = {},
): Promise<Connected> {
  // Patient: what is slow on a busy machine is not wrong.
  const options = commandOptions(Object.assign(new Config(), { DATABASE_URL: databaseUrl }));
  const sent: Sent[] = [];
  const extra: object = { max: 10, Client: recording(sent) };
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

/** The service's client, but patient, and it records what it is given. */
function recording(sent: Sent[]): typeof Client {
  return class extends DeadlineClient {
    constructor(config?: ClientConfig) {
      super({ ...config, silenceMs: PATIENCE_MS });
      const { query } = this;
      const record = (...args: [string]) => {
        const [what, values] = args as [string | Statement, unknown?];
        if (typeof what !== 'string') sent.push(...runsOf(what));
        else if (what !== SET_SESSION) sent.push({ text: what, values: Array.isArray(values) ? values : [] });
        return (query as (...all: unknown[]) => unknown).apply(this, args);
      };
      Object.assign(this, { query: record });
    }
  };
}

interface Statement {
  text: string;
  values?: unknown[];
  /** The statements of a packet, with their values. */
  runs?: [statement: Statement, values: unknown[]][];
  submit?: unknown;
}

/** What is run; of a query that only prepares a statement, nothing is. */
function runsOf({ text, values = [], runs, submit }: Statement): Sent[] {
  if (runs) return runs.map(([statement, its]) => ({ text: statement.text, values: its }));
  return submit ? [] : [{ text, values }];
}
