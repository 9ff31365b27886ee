import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
  type Answer,
  call,
  createCheapAccount,
  createKey,
  type Credentials,
  credentialsFor,
} from '../../src/testing/client.js';
import {
  addressOf,
  type Content,
  contentOf,
  exampleOf,
  makes,
  nameless,
  operations,
  parametersIn,
  type Placed,
  successOf,
} from '../../src/testing/document.js';
import { withNewValues } from '../../src/testing/examples.js';
import type { Facts } from '../../src/testing/facts.js';
import { bodySchema, resolve, type Schema, word } from '../../src/testing/schema.js';
import { query, type TestedService } from '../../src/testing/service.js';
import { fieldOf, type Table, Tables } from '../../src/testing/tables.js';

/** Whatever paths of the document name by an id, each as the path before the id. */
const COLLECTIONS = [
  ...new Set(operations.flatMap((one) => parametersIn(one).map(({ collection }) => collection))),
];

/** The collection that a parameter of this name takes an id of. */
const NAMED = new Map(
  operations
    .flatMap((one) => parametersIn(one).map(({ name, collection }) => [name, collection] as const))
    .toReversed(),
);

/** The operation that makes what is in a collection. */
function makerOf(collection: string): Placed | undefined {
  const isOf = ({ path }: Placed) => nameless(path) === collection;
  const puts = (one: Placed) => makes(one) && nameless(one.path) === `${collection}/{}`;
  return operations.find((one) => one.method === 'POST' && isOf(one)) ?? operations.find(puts);
}

/**
 * An account, and what it has: one of everything that a path of the document can name, and as many more as a test uses up.
 * All are made from the examples of the document, so those of added modules too. Texts that are nobody else's business
 * have the mark of the account.
 */
export class Belongings {
  /** Ids that stay as they are, by the collection that they are in. */
  readonly kept = new Map<string, string>();
  private readonly mark = word();
  private readonly made = new Set<string>();

  private constructor(
    private readonly service: TestedService,
    readonly account: Credentials & { id: number },
    private readonly key: string,
    private readonly tables: Tables,
    private readonly facts: Facts,
  ) {}

  static async of(service: TestedService, facts: Facts = {}): Promise<Belongings> {
    const account = await createCheapAccount(service);
    const tables = await Tables.of(service.databaseUrl, facts.tables);
    const all = new Belongings(service, account, await createKey(service, account), tables, facts);
    // Those that others are below come first.
    for (const one of COLLECTIONS.toSorted((a, b) => a.split('{').length - b.split('{').length))
      all.kept.set(one, await all.make(one));
    return all;
  }

  /** Whether what a path is about is that of one account; else all accounts share it. */
  isOwned(one: Pick<Placed, 'path'>): boolean {
    return this.tables.of(one)?.isOwned ?? false;
  }

  /** Whether something that the ids in a path name is that of one account, itself or what it is below. */
  isWithinOwned(parameters: readonly { collection: string }[]): boolean {
    return parameters.some(({ collection }) => this.isOwned({ path: collection }));
  }

  /** Makes what is in a collection, which is below those with `ids`, and returns its id. */
  async make(
    collection: string,
    ids: ReadonlyMap<string, string> = this.kept,
    path: string[] = [],
  ): Promise<string> {
    const table = this.tables.of({ path: collection });
    // Another version may have what makes it.
    const same = COLLECTIONS.filter((path) => table && this.tables.of({ path }) === table);
    const made = [collection, ...same].find((path) => makerOf(path) !== undefined);
    if (made === undefined) return this.present(collection);
    const maker = makerOf(made)!;
    const { account, key } = this;
    const given = randomUUID();
    const isGiven = maker.method === 'PUT';
    const { status, text, body, headers } = await call(
      this.service,
      maker.method,
      addressOf(maker, ({ name }) => {
        const of = parametersIn(maker).find((one) => one.name === name)!.collection;
        return isGiven && of === made ? given : ids.get(of);
      }),
      {
        ...credentialsFor(maker, { account, key }),
        ...(await this.contentFor(maker, [...path, collection])),
      },
    );
    const { operationId } = maker.operation;
    assert.equal(
      status,
      successOf(maker).status,
      `${operationId} makes nothing by its example: ${status} ${text}`,
    );
    const id = isGiven ? given : String(body?.id ?? headers.get('location')?.split('/').pop());
    if (this.isOwned(maker)) this.made.add(`${table!.name} ${id}`);
    return id;
  }

  /** The id of a row of what no operation makes; of what has no rows, that of the example. */
  private async present(collection: string): Promise<string> {
    const table = this.tables.of({ path: collection });
    if (!table || table.key.length !== 1) {
      const found = operations.flatMap(parametersIn).find((one) => one.collection === collection)!;
      return String(found.schema.example);
    }
    const own = table.isOwned ? `WHERE account_id = ${this.account.id}` : '';
    const [row] = await query<{ id: string }>(
      this.service.databaseUrl,
      `SELECT ${table.key[0]!}::text AS id FROM ${table.name} ${own} LIMIT 1`,
    );
    assert(row, `No operation makes what ${collection} has, and ${table.name} has no row ${own}`);
    return row.id;
  }

  /** What to send for an operation: JSON as `bodyFor` has it, anything else as in the example. */
  async contentFor(one: Placed, path: string[] = []): Promise<Content> {
    const body = await this.bodyFor(one, path);
    return body ? { body } : contentOf(one);
  }

  /** The example of a body, if there is one, with new texts, and with the ids of what has been made for it alone. */
  async bodyFor(one: Placed, path: string[] = []): Promise<Record<string, unknown> | undefined> {
    const example = exampleOf(one) as Record<string, unknown> | undefined;
    if (!example) return undefined;
    const table = this.tables.of(one);
    const body = withNewValues(one, example, new Set(this.distinctIn(one, table)));
    const mark = `${word()}-${opensWithKey(one) && !this.isOwned(one) ? '' : this.mark}`;
    for (const [name, schema] of Object.entries(bodySchema(one)?.properties ?? {})) {
      if (!(name in example)) continue;
      const { format } = schema;
      const [collection] = this.referredBy(table, name);
      if (collection && path.includes(collection)) {
        if (!bodySchema(one)!.required?.includes(name)) delete body[name];
      } else if (collection) {
        body[name] = await this.reference(collection, schema, path);
      } else if (schema.type === 'string' && !format) {
        const text = [`${example[name] as string} ${mark}`, mark].find((value) => fits(schema, value));
        if (text) body[name] = text;
      } else if (format === 'email') body[name] = `${mark}@example.com`;
    }
    return body;
  }

  /** The fields of a body of which no two may be alike. */
  private distinctIn({ operation }: Placed, table?: Table): string[] {
    const limited = table?.limits.flatMap(({ columns }) => columns.map(fieldOf)) ?? [];
    return [...limited, ...(this.facts.distinct?.[operation.operationId] ?? [])];
  }

  /** The collection that a field names one of, or several: by its name, else by its column. */
  private referredBy(table: Table | undefined, field: string): string[] {
    const named = NAMED.get(field) ?? NAMED.get(field.replace(/s$/, ''));
    if (named) return [named];
    const [, other] =
      Object.entries(table?.references ?? {}).find(([column]) => fieldOf(column) === field) ?? [];
    return other ? COLLECTIONS.filter((path) => this.tables.of({ path })?.name === other) : [];
  }

  private async reference(collection: string, schema: Schema, path: string[]): Promise<unknown> {
    const id = await this.make(collection, this.kept, path);
    const { type, items } = resolve(schema);
    if (type === 'array') return [resolve(items!).type === 'integer' ? Number(id) : id];
    return type === 'integer' ? Number(id) : id;
  }

  /** Takes the email that the account has from now on, if an answer to its owner says so. */
  learn(one: Placed, { status, body }: Answer): void {
    if (status === 200 && body?.email && !opensWithKey(one)) this.account.email = body.email;
  }

  /** What an answer to somebody else tells of this account. */
  toldBy(one: Placed, { headers, text, body }: Answer): string[] {
    const told = `${JSON.stringify([...headers])} ${text}`;
    const ids = [body].flat().map((item) => `${this.tables.of(one)?.name} ${item?.id}`);
    return [
      ...[this.mark, this.account.email, this.key].filter((secret) => told.includes(secret)),
      ...ids.filter((id) => this.made.has(id)),
    ];
  }

  /** The rows of what an operation with ids in its path is about, as they are kept. */
  async rows(one: Placed): Promise<unknown[]> {
    return Promise.all(
      parametersIn(one).map(async ({ collection }) => {
        const table = this.tables.of({ path: collection });
        if (!table || table.key.length !== 1) return [];
        const sql = `SELECT to_jsonb(t) - 'last_used_at' AS row FROM ${table.name} t WHERE ${table.key[0]!}::text = $1`;
        return query(this.service.databaseUrl, sql, [this.kept.get(collection)]);
      }),
    );
  }
}

/** Whether a text has the length and the form that its schema asks for. */
const fits = ({ maxLength = Infinity, pattern }: Schema, text: string) =>
  text.length <= maxLength && (!pattern || new RegExp(pattern, 'u').test(text));

const opensWithKey = ({ operation }: Placed) => operation.security.some((one) => 'bearerAuth' in one);
