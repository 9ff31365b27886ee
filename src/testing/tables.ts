import type { Placed } from './document.js';
import { query } from './service.js';

export interface Table {
  name: string;
  isOwned: boolean;
  key: string[];
  /** The columns of each unique index and exclusion constraint. */
  limits: { name: string; columns: string[]; isExclusion: boolean }[];
  /** Referenced tables, by column. */
  references: Record<string, string>;
}

// Columns in expressions and predicates of an index are only in its dependencies.
const TABLES = `
  SELECT t.relname AS name,
    EXISTS (SELECT FROM pg_attribute WHERE attrelid = t.oid AND attname = 'account_id' AND NOT attisdropped) AS "isOwned",
    ARRAY(SELECT a.attname::text FROM pg_index i JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = ANY (i.indkey)
          WHERE i.indrelid = t.oid AND i.indisprimary ORDER BY a.attnum) AS key,
    COALESCE((
      SELECT json_agg(json_build_object('name', i.indexrelid::regclass::text, 'isExclusion', i.indisexclusion, 'columns', ARRAY(
        SELECT a.attname::text FROM pg_attribute a
        WHERE a.attrelid = t.oid AND a.attnum > 0 AND (a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1]) OR EXISTS (
          SELECT FROM pg_depend d
          WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
            AND d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid AND d.refobjsubid = a.attnum))
        ORDER BY a.attnum)))
      FROM pg_index i WHERE i.indrelid = t.oid AND (i.indisunique OR i.indisexclusion)), '[]') AS limits,
    COALESCE((
      SELECT json_object_agg(a.attname, f.relname)
      FROM pg_constraint c JOIN pg_class f ON f.oid = c.confrelid
        JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = c.conkey[1]
      WHERE c.conrelid = t.oid AND c.contype = 'f' AND array_length(c.conkey, 1) = 1), '{}') AS references
  FROM pg_class t
  WHERE t.relkind IN ('r', 'p') AND NOT t.relispartition AND t.relnamespace = 'public'::regnamespace`;

/** The tables of a service, by operation. */
export class Tables {
  private constructor(
    private readonly byName: ReadonlyMap<string, Table>,
    private readonly renamed: Readonly<Record<string, string>>,
  ) {}

  /** @param renamed tables by words of paths, where the names differ */
  static async of(databaseUrl: string, renamed: Readonly<Record<string, string>> = {}): Promise<Tables> {
    const all = await query<Table>(databaseUrl, TABLES);
    return new Tables(new Map(all.map((table) => [table.name, table])), renamed);
  }

  named(name: string): Table | undefined {
    return this.byName.get(name);
  }

  /** The table that the last matching word of a path names, if any. */
  of({ path }: Pick<Placed, 'path'>): Table | undefined {
    const words = path.split('/').filter((part) => part && !part.startsWith('{'));
    const tables = words.map((word) => this.byName.get(this.renamed[word] ?? word.replaceAll('-', '_')));
    return tables.findLast((table) => table !== undefined);
  }
}

export const fieldOf = (column: string) =>
  column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
