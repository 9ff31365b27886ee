import { DataSource, EntityManager, type QueryRunner } from 'typeorm';
import { CompiledEntityManager } from './compiled-entity-manager.js';
import { Compiler } from './compiler.js';
import { GroupedInserts } from './grouped-inserts.js';
import type { LaneCounts } from './lane.js';
import { SharedReads } from './shared-reads.js';

/**
 * TypeORM's data source, whose entity managers run common operations as prepared statements. So a repository is fast
 * that is injected and called as in any other project.
 */
export class CompiledDataSource extends DataSource {
  readonly compiler = new Compiler(new EntityManager(this));
  readonly reads = new SharedReads();
  /** Of the writes that are made together. */
  readonly writeCounts: LaneCounts = { asked: 0, sent: 0 };
  readonly inserts = new GroupedInserts(this.writeCounts);

  override createEntityManager(queryRunner?: QueryRunner): EntityManager {
    return new CompiledEntityManager(this, queryRunner);
  }
}
