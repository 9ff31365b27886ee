import type { Client } from 'pg';
import { UNFINISHED_COPY } from '../../platform/database/index.js';

/** A table whose rows are copied: partitions are copied with what they are partitions of. */
export interface Table {
  /** With its schema, quoted where SQL needs it. */
  name: string;
  /** Its own rows, as they stand after FROM: those of its partitions too, but not those of tables that inherit from it. */
  source: string;
  /** Its stored columns in alphabetical order, quoted where SQL needs it; those that are generated are left out. */
  columns: string[];
  /** Names of the tables that its foreign keys refer to, itself left out. */
  parents: string[];
}

/** What belongs to neither PostgreSQL nor an extension. */
export const OWN = `namespace.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast', '${UNFINISHED_COPY}')
  AND namespace.nspname NOT LIKE 'pg\\_temp%'
  AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = class.oid AND classid = 'pg_class'::regclass AND deptype = 'e')`;

const TABLES = `
  SELECT format('%I.%I', namespace.nspname, class.relname) AS name,
    format('%s%I.%I', CASE WHEN relkind = 'r' AND EXISTS (SELECT FROM pg_inherits WHERE inhparent = class.oid) THEN 'ONLY ' END,
      namespace.nspname, class.relname) AS source,
    ARRAY(SELECT format('%I', attname) FROM pg_attribute
      WHERE attrelid = class.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
      ORDER BY attname) AS columns,
    ARRAY(SELECT DISTINCT format('%I.%I', space.nspname, parent.relname)
      FROM pg_constraint
        JOIN pg_class parent ON parent.oid = coalesce(pg_partition_root(confrelid), confrelid)
        JOIN pg_namespace space ON space.oid = parent.relnamespace
      WHERE contype = 'f' AND parent.oid <> class.oid
        AND coalesce(pg_partition_root(conrelid), conrelid) = class.oid) AS parents
  FROM pg_class class JOIN pg_namespace namespace ON namespace.oid = class.relnamespace
  WHERE class.relkind IN ('r', 'p') AND NOT class.relispartition AND ${OWN}
  ORDER BY 1`;

const named = (which: string) => `
  SELECT format('%I.%I', namespace.nspname, class.relname) AS name
  FROM pg_class class JOIN pg_namespace namespace ON namespace.oid = class.relnamespace
  WHERE ${which} AND ${OWN} ORDER BY 1`;
const PARTITIONS = `
  SELECT pg_partition_root(class.oid)::regclass::text AS of, format('%I.%I', namespace.nspname, class.relname) AS name
  FROM pg_class class JOIN pg_namespace namespace ON namespace.oid = class.relnamespace
  WHERE class.relispartition AND class.relkind IN ('r', 'p') AND ${OWN} ORDER BY 1, 2`;
const SEQUENCES = named(`class.relkind = 'S'`);

/** Every table, after those that it refers to. */
export async function findTables(session: Client): Promise<Table[]> {
  const { rows } = await session.query<Table>(TABLES);
  const sorted: Table[] = [];
  const waiting = new Map(rows.map((table) => [table.name, table]));
  while (waiting.size > 0) {
    const free = [...waiting.values()].filter(({ parents }) => !parents.some((name) => waiting.has(name)));
    // Tables that refer to each other have no order.
    const next = free.length > 0 ? free : [...waiting.values()];
    for (const table of next) waiting.delete(table.name);
    sorted.push(...next);
  }
  return sorted;
}

/** Names of all sequences, those of identity columns included. */
export async function findSequences(session: Client): Promise<string[]> {
  const { rows } = await session.query<{ name: string }>(SEQUENCES);
  return rows.map(({ name }) => name);
}

/** The partitions of each table that has some. */
export async function findPartitions(session: Client): Promise<Map<string, string[]>> {
  const { rows } = await session.query<{ of: string; name: string }>(PARTITIONS);
  const partitions = Map.groupBy(rows, ({ of }) => of);
  return new Map([...partitions].map(([of, found]) => [of, found.map(({ name }) => name)]));
}

/** What two databases must have in common so that rows can be copied, besides partitions: tables, columns, sequences. */
export async function findShape(session: Client): Promise<string[]> {
  const tables = await findTables(session);
  return [
    ...tables.map(({ name, columns }) => `${name} (${columns.join(', ')})`),
    ...(await findSequences(session)),
  ];
}
