import { EntityManager } from 'typeorm';
import { Account } from '../../src/auth/account.entity.js';
import { ApiKey } from '../../src/auth/api-key.entity.js';
import { Category } from '../../src/categories/category.entity.js';
import { Config } from '../../src/config.js';
import { CompiledDataSource } from '../../src/database/compiled/compiled-data-source.js';
import { poolOptions } from '../../src/database/connection-options.js';
import { DeadlineClient } from '../../src/database/deadline-client.js';
import { IdempotencyKey } from '../../src/idempotency/idempotency-key.entity.js';
import { Message } from '../../src/messages/message.entity.js';
import { Pet } from '../../src/pets/pet.entity.js';
import { Order } from '../../src/store/order.entity.js';

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

const entities = [Account, ApiKey, Category, IdempotencyKey, Message, Order, Pet];

/** Connects to the database of a service, whose schema exists already. */
export async function connectCompiled(databaseUrl: string): Promise<Compiled> {
  const options = poolOptions(Object.assign(new Config(), { DATABASE_URL: databaseUrl }));
  const sent: Sent[] = [];
  const extra: object = { ...options.extra, Client: recording(sent) };
  const database = new CompiledDataSource({ ...options, extra, entities });
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
