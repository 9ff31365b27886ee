import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Indexes for the lists of a category's animals, built without blocking writes. */
export class PetsOfACategory1795273200000 implements MigrationInterface {
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await addIndex(runner, 'pets_category_id_id_idx', 'pets (category_id, id)');
    await addIndex(runner, 'pets_status_category_id_id_idx', 'pets (status, category_id, id)');
    // The first new index replaces this one.
    await runner.query('DROP INDEX CONCURRENTLY IF EXISTS pets_category_id_idx');
  }

  // TypeORM reverts a migration in a transaction, whatever `transaction` says.
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE INDEX pets_category_id_idx ON pets (category_id)');
    await runner.query('DROP INDEX pets_status_category_id_id_idx, pets_category_id_id_idx');
  }
}

/** Adds an index; first drops the invalid index that an interrupted migration leaves. */
async function addIndex(runner: QueryRunner, name: string, what: string): Promise<void> {
  await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
  await runner.query(`CREATE INDEX CONCURRENTLY ${name} ON ${what}`);
}
