import type { EntityMetadata } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { type Compiler, soughtName } from './compiler.js';
import type { Statement } from './statement.js';

/** Inserts one row with values for `keys`; returns the columns that the table sets itself. */
export function insertStatement(
  compiler: Compiler,
  entity: EntityMetadata,
  keys: readonly string[],
): Statement | undefined {
  const made = madeByTable(entity, keys);
  const build = () =>
    compiler.manager
      .createQueryBuilder()
      .insert()
      .into(entity.target)
      .values(assignments(keys))
      .returning(made.map(({ propertyName }) => propertyName));
  return compiler.once(entity, `insert ${keys.join()}`, build, made);
}

/**
 * Inserts many rows, from lists of values for `keys`. Ids follow the order of the lists, as the rows are sorted before
 * they are inserted; PostgreSQL does not guarantee the order in which they are returned.
 */
export function insertAllStatement(
  compiler: Compiler,
  entity: EntityMetadata,
  keys: readonly string[],
): Statement | undefined {
  const made = madeByTable(entity, keys);
  const build = () => {
    const { driver } = compiler.manager.dataSource;
    const given = keys.map((key) => entity.findColumnWithPropertyName(key)!);
    const lists = given.map((column, i) => `$${i + 1}::${driver.normalizeType(column)}[]`).join(', ');
    const [columns, returned] = [given, made].map((list) =>
      list.map(({ databaseName }) => `"${databaseName}"`),
    );
    const text = `INSERT INTO "${entity.tableName}" (${columns!.join(', ')}) SELECT ${columns!.join(', ')} FROM unnest(${lists}) WITH ORDINALITY AS list(${columns!.join(', ')}, ordinality) ORDER BY ordinality RETURNING ${returned!.join(', ')}`;
    return { text, parameters: keys };
  };
  return compiler.once(entity, `insert all ${keys.join()}`, build, made);
}

/** Sets `keys` where the properties `sought` have the values of the parameters that `soughtName` names. */
export function updateStatement(
  compiler: Compiler,
  entity: EntityMetadata,
  keys: readonly string[],
  sought: readonly string[],
): Statement | undefined {
  return compiler.once(entity, `update ${keys.join()} by ${sought.join()}`, () => {
    const query = compiler.manager.createQueryBuilder().update(entity.target).set(assignments(keys));
    for (const key of sought) {
      const column = entity.findColumnWithPropertyName(key)!.databaseName;
      query.andWhere(`"${column}" = :${soughtName(key)}`);
    }
    return query;
  });
}

/** The columns without a value that the table sets: its id, its defaults. */
function madeByTable(entity: EntityMetadata, keys: readonly string[]): ColumnMetadata[] {
  return entity.columns.filter(
    ({ propertyName, isGenerated, default: value }) =>
      !keys.includes(propertyName) && (isGenerated || value !== undefined),
  );
}

const assignments = (keys: readonly string[]) =>
  Object.fromEntries(keys.map((key) => [key, () => `:${key}`]));
