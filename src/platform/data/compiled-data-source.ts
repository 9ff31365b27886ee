import type { Pool, PoolClient, PoolConfig } from 'pg';
import { DataSource, EntityManager, type QueryRunner } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { Replicas } from '../database/replicas/replicas.js';
import { CompiledEntityManager } from './compiled-entity-manager.js';
import { Compiler } from './compiler.js';
import { GroupedInserts } from './grouped-inserts.js';
import type { BatchCounts } from '../database/batcher.js';
import { SharedReads } from './shared-reads.js';

/** TypeORM's options, and those that it does not have. */
export type CompiledDataSourceOptions = PostgresDataSourceOptions & {
  /** The pools of the replicas that lists are read from. */
  readonly replicaPools: readonly PoolConfig[];
  /** Whether a connection keeps its prepared statements. */
  readonly preparesStatements: boolean;
};

/**
 * TypeORM's data source, whose entity managers run common operations as prepared statements. So ordinary injected
 * repositories are fast.
 */
export class CompiledDataSource extends DataSource {
  declare readonly options: CompiledDataSourceOptions;
  readonly compiler = new Compiler(new EntityManager(this));
  readonly reads = new SharedReads();
  /** For the writes that are batched. */
  readonly writeCounts: BatchCounts = { asked: 0, sent: 0 };
  readonly inserts = new GroupedInserts(this.writeCounts);
  private replicas?: Replicas;

  override createEntityManager(queryRunner?: QueryRunner): EntityManager {
    return new CompiledEntityManager(this, queryRunner);
  }

  override async initialize(): Promise<this> {
    await super.initialize();
    const { replicaPools: pools, preparesStatements } = this.options;
    if (pools.length > 0) this.replicas = new Replicas(this.primary, pools, preparesStatements);
    return this;
  }

  override async destroy(): Promise<void> {
    await Promise.all([this.replicas?.close(), super.destroy()]);
  }

  /** The connections to the primary: TypeORM's own. */
  get primary(): Pool {
    return (this.driver as PostgresDriver).master;
  }

  /** Reads lists, outside of transactions: from a replica, if one is as current as the primary. */
  readList<T>(work: (connection: Pool | PoolClient) => Promise<T>): Promise<T> {
    return this.replicas ? this.replicas.read(work) : work(this.primary);
  }
}
