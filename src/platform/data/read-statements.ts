import type { EntityMetadata, ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import type { Compiler } from './compiler.js';
import type { Statement } from './statement.js';

/** Alias of the table in a query. */
const ROW = 'row';

/** One row, looked up by the values of some properties. */
export function findStatement(
  compiler: Compiler,
  entity: EntityMetadata,
  keys: readonly string[],
): Statement | undefined {
  return compiler.once(entity, `find by ${keys.join()}`, () => {
    const query = select(compiler, entity).limit(1);
    for (const key of keys) query.andWhere(`${ROW}.${key} = :${key}`);
    return query;
  });
}

/** The rows whose `key` is in a list. */
export function findAllStatement(
  compiler: Compiler,
  entity: EntityMetadata,
  key: string,
): Statement | undefined {
  return compiler.once(entity, `find all by ${key}`, () =>
    select(compiler, entity).where(`${ROW}.${key} = ANY(:${key})`),
  );
}

/** The shape of a page: at most `size` rows that match values of `keys`, from the first one or after an id. */
interface PageShape {
  keys: readonly string[];
  size: number;
  isFirst: boolean;
}

/** All ids lie between these. */
const [LEAST, MOST] = [-(2n ** 63n), 2n ** 63n - 1n];

/**
 * One page, in the order of ids. The last key and the id are bounded from both sides and the rows ordered by both, so
 * that only the index on the keys and the id answers without a sort. With `key = value` the planner may scan the whole
 * primary key in search of a rare value. For a row comparison with values that it cannot see, it assumes that a ninth
 * of the rows remain, too many to sort for one page, whatever its statistics say.
 */
export function pageStatement(
  compiler: Compiler,
  entity: EntityMetadata,
  { keys, size, isFirst }: PageShape,
): Statement | undefined {
  const { driver } = compiler.manager.dataSource;
  const unseen = (key: string) =>
    `(SELECT CAST(:${key} AS ${driver.normalizeType(entity.findColumnWithPropertyName(key)!)}))`;
  const [last, ...equal] = keys.toReversed();
  return compiler.once(entity, `page of ${size} by ${keys.join()}${isFirst ? '' : ' after id'}`, () => {
    const query = select(compiler, entity).limit(size);
    for (const key of equal) query.andWhere(`${ROW}.${key} = :${key}`);
    if (last === undefined) return (isFirst ? query : query.where(`${ROW}.id > :id`)).orderBy(`${ROW}.id`);
    const columns = `(${ROW}.${last}, ${ROW}.id)`;
    return query
      .andWhere(`${columns} > (${unseen(last)}, ${isFirst ? LEAST : unseen('id')})`)
      .andWhere(`${columns} <= (${unseen(last)}, ${MOST})`)
      .orderBy(`${ROW}.${last}`)
      .addOrderBy(`${ROW}.id`);
  });
}

/** One page of the rows whose ids are in a list `ids`: these are few, so they are filtered and sorted as they come. */
export function pageOfIdsStatement(
  compiler: Compiler,
  entity: EntityMetadata,
  { keys, size, isFirst }: PageShape,
): Statement | undefined {
  return compiler.once(
    entity,
    `page of ${size} of ids by ${keys.join()}${isFirst ? '' : ' after id'}`,
    () => {
      const query = select(compiler, entity).where(`${ROW}.id = ANY(:ids)`).orderBy(`${ROW}.id`).limit(size);
      for (const key of keys) query.andWhere(`${ROW}.${key} = :${key}`);
      return isFirst ? query : query.andWhere(`${ROW}.id > :id`);
    },
  );
}

/**
 * A placeholder as `page` writes it: with or without the sub-select, which a joined list does not need. Type names have
 * no parentheses here.
 */
const VALUE = /\(SELECT CAST\(\$(\d+) AS [^)]+\)\)|\$(\d+)/g;

/** Several pages of one shape, from lists of one page's parameters. Each row ends with the number of its page. */
export function pagesStatement(compiler: Compiler, entity: EntityMetadata, one: Statement): Statement {
  const { driver } = compiler.manager.dataSource;
  const columnOf = (name: string) => entity.findColumnWithPropertyName(name)!;
  const lists = one.parameters.map((name, i) => `$${i + 1}::${driver.normalizeType(columnOf(name))}[]`);
  const names = one.parameters.map((name) => `"${name}"`);
  const each = one.text.replaceAll(VALUE, (_, unseen?: string, n = unseen) => `list.${names[Number(n) - 1]}`);
  const text = `SELECT found.*, list.page FROM unnest(${lists.join(', ')}) WITH ORDINALITY AS list(${names.join(', ')}, page) CROSS JOIN LATERAL (${each}) AS found`;
  return compiler.once(entity, `several of ${one.name}`, () => ({ text, parameters: one.parameters }))!;
}

function select({ manager }: Compiler, entity: EntityMetadata): SelectQueryBuilder<ObjectLiteral> {
  return manager.createQueryBuilder(entity.target, ROW);
}
