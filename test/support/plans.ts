import { Client } from 'pg';
import type { Sent } from './database.js';

export type PlanMode = 'force_generic_plan' | 'force_custom_plan';

interface Node {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Filter?: string;
  'Recheck Cond'?: string;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: Node[];
}

/** Conditions on the keys of single rows; a request names a hundred rows at most. */
const FEW = /\b(?:id|key|hash) = /;

/** PostgreSQL plans this many runs anew, then compares their costs with those of a generic plan. */
const PLANNED = 5;

/** Examines how PostgreSQL would run statements, or runs them. */
export class Planner {
  private constructor(
    private readonly client: Client,
    private readonly tables: ReadonlySet<string>,
  ) {}

  /** @param tables the large tables */
  static async connect(connectionString: string, tables: string[]): Promise<Planner> {
    const client = new Client({ connectionString });
    await client.connect();
    return new Planner(client, new Set(tables));
  }

  /** The faults of a statement's plans: it reads or sorts more rows than it needs. */
  async faultsOf(statement: Sent, mode: PlanMode): Promise<string[]> {
    if (statement.isPrepared === false && mode === 'force_generic_plan') return [];
    const faults = this.faultsIn(await this.explain(statement, mode, 'COSTS OFF'));
    // A search is planned for its words, and sorts the rows found in an order that no index has.
    if (!isSearch(statement)) return faults;
    return mode === 'force_custom_plan' ? faults.filter((fault) => fault.startsWith('reads all')) : [];
  }

  /** The number of 8 kB pages that a prepared statement reads at a run, cached or not. */
  async buffersOf(statement: Sent, mode: PlanMode): Promise<number> {
    const plan = await this.explain(statement, mode, 'ANALYZE, BUFFERS, TIMING OFF');
    return plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!;
  }

  /** Whether PostgreSQL plans a prepared statement at every run instead of keeping a generic plan. */
  async isPlannedAnew(statement: Sent): Promise<boolean> {
    if (statement.isPrepared === false || isSearch(statement)) return false;
    const { text, values } = statement;
    await this.client.query('SET plan_cache_mode = auto');
    return this.prepared(text, async () => {
      for (let run = 0; run <= PLANNED; run++) await this.client.query(explain(values, 'COSTS OFF'));
      const { rows } = await this.client.query<{ custom: number }>(
        `SELECT custom_plans::integer AS custom FROM pg_prepared_statements WHERE name = 'examined'`,
      );
      return rows[0]!.custom > PLANNED;
    });
  }

  /** The index that a list's faulty statement lacks or ignores; empty for other statements. */
  async adviceFor(statement: Sent): Promise<string> {
    const { table, list } = indexFor(statement) ?? {};
    if (!table) return '';
    const sql = 'SELECT FROM pg_indexes WHERE tablename = $1 AND strpos(indexdef, $2) > 0';
    const { rowCount } = await this.client.query(sql, [table, `(${list})`]);
    if (rowCount) return `PostgreSQL does not use the index on ${table} (${list}). `;
    return `Add an index on ${table} (${list}), in a migration and on the entity. `;
  }

  /** Runs `work` on a database without an index, which is then restored. */
  async without(ddl: string, work: () => Promise<void>): Promise<void> {
    await this.client.query(`BEGIN; ${ddl}`);
    try {
      await work();
    } finally {
      await this.client.query('ROLLBACK');
    }
  }

  end(): Promise<void> {
    return this.client.end();
  }

  private async explain({ text, values }: Sent, mode: PlanMode, options: string): Promise<Node> {
    await this.client.query(`SET plan_cache_mode = ${mode}`);
    return this.prepared(text, async () => {
      const { rows } = await this.client.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(explain(values, options));
      return rows[0]!['QUERY PLAN'][0].Plan;
    });
  }

  private async prepared<T>(text: string, work: () => Promise<T>): Promise<T> {
    await this.client.query(`PREPARE examined AS ${text}`);
    try {
      return await work();
    } finally {
      await this.client.query('DEALLOCATE examined').catch(() => {});
    }
  }

  private faultsIn(node: Node): string[] {
    const { Plans = [], ...own } = node;
    const { 'Node Type': type, 'Relation Name': table = '', Filter: filter } = own;
    const faults = Plans.flatMap((inner) => this.faultsIn(inner));
    const isBig = this.tables.has(table);
    if (isBig && type === 'Seq Scan') faults.push(`reads all of ${table}`);
    const isRead = type === 'Index Scan' || type === 'Index Only Scan' || type === 'Bitmap Heap Scan';
    if (isBig && isRead && filter && !isOfFew(node))
      faults.push(`searches ${table} by ${indexesIn(node).join(' and ')} for ${filter}`);
    if (type.includes('Sort')) {
      const sorted = unlimitedScansIn(node).filter(
        (scan) => this.tables.has(scan['Relation Name'] ?? '') && !isOfFew(scan),
      );
      faults.push(...sorted.map((scan) => `sorts ${scan['Relation Name']}`));
    }
    return faults;
  }
}

/** Whether a statement reads a page of a feature's query (`FastRepository.pageOf`). */
const isSearch = ({ text }: Sent) => text.includes(') AS "search"');

function explain(values: readonly unknown[], options: string): string {
  const list = values.map((value) => literal(value)).join(', ');
  return `EXPLAIN (FORMAT JSON, ${options}) EXECUTE examined${list && `(${list})`}`;
}

/** The scans below a node, except those below a LIMIT. */
function unlimitedScansIn(node: Node): Node[] {
  if (node['Node Type'] === 'Limit') return [];
  // A plan names the table of a ModifyTable node too, which is no scan.
  const isScan = node['Relation Name'] !== undefined && node['Node Type'] !== 'ModifyTable';
  return [...(isScan ? [node] : []), ...(node.Plans ?? []).flatMap(unlimitedScansIn)];
}

function indexesIn({ 'Index Name': name, Plans = [] }: Node): string[] {
  return [...(name ? [name] : []), ...Plans.flatMap(indexesIn)];
}

/** Whether an index finds a few rows by their keys. */
function isOfFew(scan: Node): boolean {
  return FEW.test(scan['Index Cond'] ?? scan['Recheck Cond'] ?? '');
}

/** The index that a page of a list needs; undefined for other statements. */
function indexFor({ text }: Sent): { table: string; list: string } | undefined {
  const table = / FROM "(\w+)"/.exec(text)?.[1];
  const order = /ORDER BY ((?:"\w+"(?: DESC)?(?:, )?)+) LIMIT/.exec(text)?.[1];
  if (!table || !order) return undefined;
  const columnsIn = (part: string, pattern: RegExp) =>
    [...part.matchAll(pattern)].map(([, column]) => column!);
  const columns = [...columnsIn(text, /"(\w+)" (?:= |IS NULL)/g), ...columnsIn(order, /"(\w+)"/g)];
  return { table, list: [...new Set(columns)].join(', ') };
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  if (Buffer.isBuffer(value)) return `'${bytes(value)}'`;
  if (Array.isArray(value)) {
    const items = value.map((one) => JSON.stringify(Buffer.isBuffer(one) ? bytes(one) : one));
    return quoted(`{${items.join()}}`);
  }
  const sent: unknown = value instanceof Date ? value.toISOString() : value;
  return quoted(typeof sent === 'string' ? sent : JSON.stringify(sent));
}

const bytes = (value: Buffer) => `\\x${value.toString('hex')}`;
const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
