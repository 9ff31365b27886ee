import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import type { EntityMetadata } from 'typeorm';
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
import type { Facts } from '../../src/testing/facts.js';
import { bodySchema, resolve, type Schema } from './schema.js';
import { query, type TestedService } from '../../src/testing/service.js';
import { connect } from './database.js';

const DAY_MS = 86_400_000;

/** All collections whose items a path names by id, each as the path before the id. */
const COLLECTIONS = [
  ...new Set(operations.flatMap((one) => parametersIn(one).map(({ collection }) => collection))),
];

/** For the name of a path parameter, the collection whose ids it takes. */
const NAMED = new Map(
  operations
    .flatMap((one) => parametersIn(one).map(({ name, collection }) => [name, collection] as const))
    .toReversed(),
);

function makerOf(collection: string): Placed | undefined {
  const isOf = ({ path }: Placed) => nameless(path) === collection;
  const puts = (one: Placed) => makes(one) && nameless(one.path) === `${collection}/{}`;
  return operations.find((one) => one.method === 'POST' && isOf(one)) ?? operations.find(puts);
}

/**
 * An account and its belongings: one of everything that a path of the document can name, and more as tests
 * use them up. All are made from the document's examples, including those of added modules. Private texts
 * contain the account's mark.
 */
export class Belongings {
  /** The ids of belongings that no test uses up, by collection. */
  readonly kept = new Map<string, string>();
  private readonly mark = word();
  private readonly made = new Set<string>();

  private constructor(
    private readonly service: TestedService,
    readonly account: Credentials & { id: number },
    private readonly key: string,
    private readonly entities: readonly EntityMetadata[],
    /** Tables by the word in a path, if the two names differ. */
    private readonly renamed: Readonly<Record<string, string>>,
  ) {}

  static async of(service: TestedService, facts: Facts = {}): Promise<Belongings> {
    const account = await createCheapAccount(service);
    const key = await createKey(service, account);
    const entities = await (known ??= entitiesOf(service));
    const all = new Belongings(service, account, key, entities, facts.tables ?? {});
    // Parents come first.
    for (const one of COLLECTIONS.toSorted((a, b) => a.split('{').length - b.split('{').length))
      all.kept.set(one, await all.make(one));
    return all;
  }

  /** Whether the resource of a path belongs to one account; if not, all accounts share it. */
  isOwned({ path }: Pick<Placed, 'path'>): boolean {
    return this.entityOf(path)?.findColumnWithDatabaseName('account_id') !== undefined;
  }

  /** The entity whose table the last matching word of a path names, if any. */
  private entityOf(path: string): EntityMetadata | undefined {
    const words = path.split('/').filter((part) => part && !part.startsWith('{'));
    const tables = words.map((word) => this.renamed[word] ?? word.replaceAll('-', '_'));
    const named = tables.map((table) => this.entities.find(({ tableName }) => tableName === table));
    return named.findLast((entity) => entity !== undefined);
  }

  /** Whether any resource that a path names by id belongs to one account, itself or by its parent. */
  isWithinOwned(parameters: readonly { collection: string }[]): boolean {
    return parameters.some(({ collection }) => this.isOwned({ path: collection }));
  }

  /** Makes a resource in a collection, below the resources with `ids`. @returns its id */
  async make(
    collection: string,
    ids: ReadonlyMap<string, string> = this.kept,
    path: string[] = [],
  ): Promise<string> {
    const entity = this.entityOf(collection);
    // An operation of another version may make the same resource.
    const same = COLLECTIONS.filter((path) => entity && this.entityOf(path) === entity);
    const made = [collection, ...same].find((path) => makerOf(path) !== undefined);
    if (made === undefined) return this.present(collection);
    const maker = makerOf(made)!;
    const { account, key } = this;
    const given = randomUUID();
    const isGiven = maker.method === 'PUT';
    const address = addressOf(maker, ({ name }) => {
      const of = parametersIn(maker).find((one) => one.name === name)!.collection;
      return isGiven && of === made ? given : ids.get(of);
    });
    const content = await this.contentFor(maker, [...path, collection]);
    const options = { ...credentialsFor(maker, { account, key }), ...content };
    const { status, text, body, headers } = await call(this.service, maker.method, address, options);
    const why = `${maker.operation.operationId} makes nothing by its example: ${status} ${text}`;
    assert.equal(status, successOf(maker).status, why);
    const id = isGiven ? given : String(body?.id ?? headers.get('location')?.split('/').pop());
    if (this.isOwned(maker)) this.made.add(`${entity!.tableName} ${id}`);
    return id;
  }

  /** The id of a row that no operation makes; without a table, the id in the example. */
  private async present(collection: string): Promise<string> {
    const entity = this.entityOf(collection);
    if (entity?.primaryColumns.length !== 1) {
      const found = operations.flatMap(parametersIn).find((one) => one.collection === collection)!;
      return String(found.schema.example);
    }
    const { tableName, primaryColumns } = entity;
    const own = this.isOwned({ path: collection }) ? `WHERE account_id = ${this.account.id}` : '';
    const [row] = await query<{ id: string }>(
      this.service.databaseUrl,
      `SELECT ${primaryColumns[0]!.databaseName}::text AS id FROM ${tableName} ${own} LIMIT 1`,
    );
    assert(row, `No operation makes what ${collection} has, and ${tableName} has no row ${own}`);
    return row.id;
  }

  /** The content to send for an operation: JSON from `bodyFor`, anything else from the example. */
  async contentFor(one: Placed, path: string[] = []): Promise<Content> {
    const body = await this.bodyFor(one, path);
    return body ? { body } : contentOf(one);
  }

  /** The example of a body, if any, with new texts, and with ids of resources made for this body alone. */
  async bodyFor(one: Placed, path: string[] = []): Promise<Record<string, unknown> | undefined> {
    const example = exampleOf(one) as Record<string, unknown> | undefined;
    if (!example) return undefined;
    const body = { ...example };
    const mark = `${word()}-${opensWithKey(one) && !this.isOwned(one) ? '' : this.mark}`;
    const fields = Object.entries(bodySchema(one)?.properties ?? {}).filter(([name]) => name in example);
    moveTimes(fields.filter(([, schema]) => isTime(schema)).map(([name]) => example[name] as string));
    for (const [name, schema] of fields) {
      const [collection] = this.referredBy(this.entityOf(one.path), name);
      if (!collection) body[name] = another(schema, example[name], mark);
      else if (!path.includes(collection)) body[name] = await this.reference(collection, schema, path);
      else if (!bodySchema(one)!.required?.includes(name)) delete body[name];
    }
    return body;
  }

  /** The collection that a field refers to: found by the field's name, else by its column. */
  private referredBy(entity: EntityMetadata | undefined, field: string): string[] {
    const named = NAMED.get(field) ?? NAMED.get(field.replace(/s$/, ''));
    if (named) return [named];
    const key = entity?.foreignKeys.find(({ columns: [column] }) => column!.propertyName === field);
    return key ? COLLECTIONS.filter((path) => this.entityOf(path) === key.referencedEntityMetadata) : [];
  }

  private async reference(collection: string, schema: Schema, path: string[]): Promise<unknown> {
    const id = await this.make(collection, this.kept, path);
    const { type, items } = resolve(schema);
    if (type === 'array') return [resolve(items!).type === 'integer' ? Number(id) : id];
    return type === 'integer' ? Number(id) : id;
  }

  /** Takes over the account's new email, if an answer to its owner contains one. */
  learn(one: Placed, { status, body }: Answer): void {
    if (status === 200 && body?.email && !opensWithKey(one)) this.account.email = body.email;
  }

  /** The secrets of this account that an answer to another caller contains. */
  toldBy(one: Placed, { headers, text, body }: Answer): string[] {
    const told = `${JSON.stringify([...headers])} ${text}`;
    const ids = [body].flat().map((item) => `${this.entityOf(one.path)?.tableName} ${item?.id}`);
    return [
      ...[this.mark, this.account.email, this.key].filter((secret) => told.includes(secret)),
      ...ids.filter((id) => this.made.has(id)),
    ];
  }

  /** The stored rows of the resources that the path of an operation names by id. */
  async rows(one: Placed): Promise<unknown[]> {
    return Promise.all(
      parametersIn(one).map(async ({ collection }) => {
        const { tableName, primaryColumns: [key, ...more] = [] } = this.entityOf(collection) ?? {};
        if (!key || more.length > 0) return [];
        const sql = `SELECT to_jsonb(t) - 'last_used_at' AS row FROM ${tableName} t WHERE ${key.databaseName}::text = $1`;
        return query(this.service.databaseUrl, sql, [this.kept.get(collection)]);
      }),
    );
  }
}

let known: Promise<readonly EntityMetadata[]> | undefined;

/** The entities of the service, the same on any of its databases. */
async function entitiesOf({ databaseUrl }: TestedService): Promise<readonly EntityMetadata[]> {
  const { database } = await connect(databaseUrl);
  await database.destroy();
  return database.entityMetadatas;
}

let movedDays = 0;
let made = 0;

const word = () => randomUUID().replaceAll('-', '').slice(0, 12);
const isTime = (schema: Schema) => /^date(?:-time)?$/.test(resolve(schema).format ?? '');

/** Moves all dates and times of a body together, further than those of any earlier body. */
function moveTimes(times: string[]): void {
  const known = times.map((time) => Date.parse(time)).filter((time) => !Number.isNaN(time));
  if (known.length > 0) movedDays += Math.ceil((Math.max(...known) - Math.min(...known)) / DAY_MS) + 40;
}

/** A value that differs from all earlier ones, as a field may be unique; the example where none is possible. */
function another(schema: Schema, example: unknown, mark: string): unknown {
  const resolved = resolve(schema);
  const { format, enum: values, minimum = 1, maximum = Number.MAX_SAFE_INTEGER } = resolved;
  if (typeof example === 'number') return minimum + ((example - minimum + ++made) % (maximum - minimum + 1));
  if (typeof example !== 'string' || values || format === 'password') return example;
  if (format === 'uuid') return randomUUID();
  if (format === 'email') return `${mark}@example.com`;
  if (format === 'uri') return new URL(`/${mark}`, example).href;
  if (format === 'decimal') return String(BigInt(example.split('.')[0]!) + BigInt(++made));
  if (isTime(schema)) {
    const moved = new Date(Date.parse(example) + movedDays * DAY_MS).toISOString();
    return format === 'date' ? moved.slice(0, 10) : moved;
  }
  const texts = [`${example} ${mark}`, mark, ...Array.from({ length: 50 }, () => textLike(example))];
  return texts.find((text) => text !== example && fits(resolved, text)) ?? example;
}

function textLike(text: string): string {
  const any = (from: string) => from[randomInt(from.length)]!;
  return text
    .replaceAll(/\d/g, () => any('0123456789'))
    .replaceAll(/[a-z]/g, () => any('abcdefghijklmnopqrstuvwxyz'))
    .replaceAll(/[A-Z]/g, () => any('ABCDEFGHIJKLMNOPQRSTUVWXYZ'));
}

/** Whether a text fits the length and the pattern of a schema. */
const fits = ({ maxLength = Infinity, pattern }: Schema, text: string) =>
  text.length <= maxLength && (!pattern || new RegExp(pattern, 'u').test(text));

const opensWithKey = ({ operation }: Placed) => operation.security.some((one) => 'bearerAuth' in one);
