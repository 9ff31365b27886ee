import { And, type FindOptionsOrder, type FindOptionsWhere, In, MoreThan, type Repository } from 'typeorm';
import type { CompiledEntityManager } from './compiled-entity-manager.js';
import { hydrate, plainKeys } from './plain-entity.js';
import { pageOfIdsStatement, pageStatement } from './read-statements.js';
import { run } from './run.js';
import type { Slice } from './shared-pages.js';

/** Values that the rows of a list must have, and the ids that they must be among. Undefined ones are ignored. */
export type Filter<Entity> = { [Key in keyof Entity]?: Entity[Key] } & { ids?: readonly string[] };

/** The number of rows is fixed in a statement's SQL, so sizes are rounded up: ten statements, not a hundred. */
const STEP = 10;

/** The first `limit` rows with ids above `after`. */
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

/** The first rows, with one more read than wanted. */
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
