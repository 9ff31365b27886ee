import type { Made } from './made.ts';
import { beforeOf, exclusionOf, type Rules, uniqueOf } from './rules.ts';
import { inSql } from './words.ts';

/** The columns of the table after its id, one a line. */
export function columnsOf(
  table: string,
  fields: readonly Made[],
  { overlap }: Rules,
  owned: boolean,
): string {
  const owner = `account_id bigint NOT NULL CONSTRAINT ${table}_account_id_fkey REFERENCES accounts`;
  const lines = fields.map((one) => {
    const { columnName, columnSql, sql, optional, check, target, isUnique } = one;
    const parts = [columnSql, sql, ...(optional ? [] : ['NOT NULL'])];
    if (check) parts.push(`CONSTRAINT ${table}_${columnName}_check CHECK (${check})`);
    if (isUnique && !owned) parts.push(`CONSTRAINT ${uniqueOf(table, one, owned)} UNIQUE`);
    if (target)
      parts.push(
        `CONSTRAINT ${table}_${columnName}_fkey REFERENCES ${target.table}${target.isAdded ? ' ON DELETE CASCADE' : ''}`,
      );
    return parts.join(' ');
  });
  const uniques = fields
    .filter(({ isUnique }) => isUnique && owned)
    .map((one) => `CONSTRAINT ${uniqueOf(table, one, owned)} UNIQUE (${one.columnSql}, account_id)`);
  const days = overlap
    ? [
        `CONSTRAINT ${overlap.check} CHECK (${beforeOf(overlap)})`,
        `CONSTRAINT ${overlap.exclusion} EXCLUDE ${exclusionOf(overlap)}`,
      ]
    : [];
  return [...(owned ? [owner] : []), ...lines, ...uniques, ...days]
    .map((line) => `        ${line}`)
    .join(',\n');
}

export interface Index {
  name: string;
  /** Properties, and their columns. */
  properties: string[];
  columns: string[];
}

/** An index for each list, so that a page costs the same at any depth, and one for each reference. */
export function indexesOf(table: string, fields: readonly Made[], owned: boolean): Index[] {
  const owner: [string, string][] = owned ? [['accountId', 'account_id']] : [];
  const filters = fields
    .filter(({ isFilter }) => isFilter)
    .map(({ name, columnName }): [string, string] => [name, columnName]);
  const lists = [[], ...filters.map((one) => [one])]
    .map((set) => [...owner, ...set])
    .filter((set) => set.length > 0);
  const leading = new Set(lists.map(([first]) => first![1]));
  const references = fields.filter(({ target, columnName }) => target && !leading.has(columnName));
  return [
    ...lists.map((list) => indexOf(table, [...list, ['id', 'id']])),
    ...references.map(({ name, columnName }) => indexOf(table, [[name, columnName]])),
  ];
}

/** PostgreSQL cuts names after 63 bytes. */
function indexOf(table: string, list: [string, string][]): Index {
  const columns = list.map(([, column]) => inSql(column));
  return {
    name: `${`${table}_${list.map(([, column]) => column).join('_')}`.slice(0, 59)}_idx`,
    properties: list.map(([property]) => property),
    columns,
  };
}
