import { And, type FindOptionsOrder, type FindOptionsWhere, In, MoreThan, type Repository } from 'typeorm';
import type { CompiledEntityManager } from './compiled-entity-manager.js';
import { hydrate, plainKeys } from './plain-entity.js';
import { pageOfIdsStatement, pageStatement } from './read-statements.js';
import { run } from './run.js';
import type { Slice } from './shared-pages.js';

/** Values that the rows of a list have, and the ids that they are among. What is undefined does not count. */
export type Filter<Entity> = { [Key in keyof Entity]?: Entity[Key] } & { ids?: readonly string[] };

/** A statement reads a number of rows that is fixed in its SQL, so sizes are rounded up: there are ten, not a hundred. */
const STEP = 10;

/** The first `limit` rows, of those with ids above `after`. */
export async function readSlice<Entity extends { id: string }>(
  repository: Repository<Entity>,
  filter: Filter<Entity>,
  limit: number,
  after?: string,
): Promise<Slice<Entity>> {
  const { metadata, target } = repository;
  const manager = repository.manager as CompiledEntityManager;
  const { compiler, reads } = manager.dataSource;
  const { ids, ...equal } = filter;
  const keys = plainKeys(metadata, equal);
  const size = Math.ceil(limit / STEP) * STEP + 1;
  const shape = keys && { keys, size, isFirst: after === undefined };
  const statement = shape && (ids ? pageOfIdsStatement : pageStatement)(compiler, metadata, shape);
  if (!statement) return cut(await manager.find(target, plainOptions(filter, limit, after)), limit);
  const values = { ...filter, id: after };
  if (!manager.queryRunner) {
    return (await reads.page(manager, metadata, statement, { values, limit })) as Slice<Entity>;
  }
  const { rows } = await run(manager, statement, values);
  return cut(
    rows.map((row) => hydrate(metadata, statement, row) as Entity),
    limit,
  );
}

/** The first rows, of which one more was read than is wanted. */
function cut<Entity>(rows: readonly Entity[], limit: number): Slice<Entity> {
  return { items: rows.slice(0, limit), hasMore: rows.length > limit };
}

/** The same rows, for an entity that is more than plain columns. */
function plainOptions<Entity extends { id: string }>(
  { ids, ...equal }: Filter<Entity>,
  limit: number,
  after?: string,
) {
  const bounds = [...(ids ? [In([...ids])] : []), ...(after === undefined ? [] : [MoreThan(after)])];
  const where = Object.fromEntries(Object.entries(equal).filter(([, value]) => value !== undefined));
  if (bounds.length > 0) where.id = And(...bounds);
  const order = { id: 'ASC' } as FindOptionsOrder<Entity>;
  return { where: where as FindOptionsWhere<Entity>, order, take: limit + 1 };
}
