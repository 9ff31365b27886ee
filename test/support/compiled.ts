import { EntityManager } from 'typeorm';
import type { Pool } from 'pg';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { Account } from '../../src/auth/account.entity.js';
import { ApiKey } from '../../src/auth/api-key.entity.js';
import { Category } from '../../src/categories/category.entity.js';
import { Config } from '../../src/config.js';
import { CompiledDataSource } from '../../src/database/compiled/compiled-data-source.js';
import { poolOptions } from '../../src/database/data-source.js';
import { IdempotencyKey } from '../../src/idempotency/idempotency-key.entity.js';
import { Message } from '../../src/messages/message.entity.js';
import { Pet } from '../../src/pets/pet.entity.js';
import { Order } from '../../src/store/order.entity.js';

/** The service's way to the database in the process of a test, beside TypeORM's own. */
export interface Compiled {
  database: CompiledDataSource;
  /** TypeORM as it is, on the same connections. */
  plain: EntityManager;
  /** The SQL of what the service's own way has sent, in its order. */
  sent: string[];
}

/** Connects to the database of a service, whose schema is there. */
export async function connectCompiled(databaseUrl: string): Promise<Compiled> {
  const config = Object.assign(new Config(), { DATABASE_URL: databaseUrl });
  const entities = [Account, ApiKey, Category, IdempotencyKey, Message, Order, Pet];
  const database = new CompiledDataSource({ ...poolOptions(config), entities });
  await database.initialize();
  return { database, plain: new EntityManager(database), sent: record(database) };
}

function record({ driver }: CompiledDataSource): string[] {
  const sent: string[] = [];
  const pool = (driver as PostgresDriver).master as Pool;
  const query = pool.query.bind(pool) as (...args: unknown[]) => unknown;
  pool.query = ((...args: [{ text: string }]) => {
    sent.push(args[0].text);
    return query(...args);
  }) as typeof pool.query;
  return sent;
}
