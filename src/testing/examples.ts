import { type Answer, call, type CallOptions, credentialsFor } from './client.js';
import {
  addressOf,
  type Content,
  contentOf,
  exampleOf,
  inWorkingOrder,
  makes,
  nameless,
  operations,
  type Placed,
  successOf,
} from './document.js';
import type { Facts } from './facts.js';
import { another, bodySchema, isMoment } from './schema.js';
import { fieldOf, Tables } from './tables.js';
import type { TestedService } from './service.js';

const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/;

type Body = Record<string, unknown>;

/**
 * The examples of a document, to be sent one after another: as they stand, but for ids that no example can foresee, and for
 * what no two rows may share where the example of another row has taken it.
 */
export class Examples {
  private readonly made = new Map<string, string>();
  /** Which row has a value that no two may share. */
  private readonly holders = new Map<string, string>();

  private constructor(
    private readonly tables: Tables,
    private readonly facts: Facts,
  ) {}

  static async of({ databaseUrl }: Pick<TestedService, 'databaseUrl'>, facts: Facts = {}): Promise<Examples> {
    return new Examples(await Tables.of(databaseUrl, facts.tables), facts);
  }

  /** The body to send for an operation that takes JSON. */
  bodyFor(one: Placed): Body | undefined {
    const example = exampleOf(one) as Body | undefined;
    if (!example) return undefined;
    const row = rowOf(one);
    const taken = this.limitsOf(one, example).filter(
      (limit) => (this.holders.get(limit.value) ?? row) !== row,
    );
    const body = anew(one, example, new Set(taken.flatMap(({ fields }) => fields)));
    for (const { value } of this.limitsOf(one, body)) this.holders.set(value, row);
    return JSON.parse(this.fill(JSON.stringify(body))) as Body;
  }

  /** What to send for an operation. */
  contentFor(one: Placed): Content {
    const body = this.bodyFor(one);
    return body ? { body } : contentOf(one);
  }

  /** Sends the example of an operation, with those of the credentials that it requires, and learns from the answer. */
  async send(
    service: TestedService,
    one: Placed,
    has: CallOptions,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const content = this.contentFor(one);
    const answer = await call(service, one.method, this.fill(addressOf(one)), {
      ...credentialsFor(one, has),
      ...content,
      headers: { ...content.headers, ...headers },
    });
    this.learn(one, answer.text);
    return answer;
  }

  /** The source of a sample that sends the example of an operation, with the values of the body to send in its place. */
  sourceFor(one: Placed, source: string): string {
    const example = (exampleOf(one) ?? {}) as Body;
    const changed = Object.entries(this.bodyFor(one) ?? {}).filter(
      ([name, value]) => value !== example[name],
    );
    const texts = changed.flatMap(([name, value]) =>
      typeof value === 'string' ? [[example[name] as string, value] as const] : [],
    );
    return texts.reduce((text, [from, to]) => text.replaceAll(from, () => to), this.fill(source));
  }

  /** Takes the id of what an operation has made from its answer. All ids but UUIDs count up from 1, as in the examples. */
  learn(one: Placed, answered: string): void {
    const [foreseen] = UUID.exec(JSON.stringify(successOf(one).example) ?? '') ?? [];
    const [id] = UUID.exec(answered) ?? [];
    if (one.method === 'POST' && foreseen && id) this.made.set(foreseen, id);
  }

  /** A text with the ids that were made. */
  fill(text: string): string {
    return text.replaceAll(new RegExp(UUID, 'g'), (id) => this.made.get(id) ?? id);
  }

  /** What no two rows may share, each with the fields of a body that it is about, and their values. */
  private limitsOf(one: Placed, body: Body): { fields: string[]; value: string }[] {
    const table = this.tables.of(one);
    const more = this.facts.distinct?.[one.operation.operationId] ?? [];
    const limits = (table?.limits ?? []).map(({ name, columns, isExclusion }) => {
      const fields = columns.map(fieldOf).filter((field) => field in body);
      // Ranges may overlap without being alike.
      return {
        fields,
        value: isExclusion ? name : `${name} ${JSON.stringify(fields.map((field) => body[field]))}`,
      };
    });
    const declared = more.map((field) => ({
      fields: [field],
      value: `${table?.name ?? one.path} ${field} ${JSON.stringify(body[field])}`,
    }));
    return [...limits, ...declared].filter(({ fields }) => fields.length > 0);
  }
}

/** The row that an operation makes or changes, by the address in the examples. */
function rowOf(one: Placed): string {
  if (one.method !== 'POST') return addressOf(one);
  const collection = nameless(one.path);
  const byId = operations.find(({ path }) => nameless(path) === `${collection}/{}`);
  const current = operations.find(({ path }) => nameless(path) === `${collection}/current`);
  return addressOf(byId ?? current ?? one);
}

/** A body with other values in some of its fields. All its days and times move with those. */
export function anew(one: Placed, body: Body, fields: ReadonlySet<string>): Body {
  const all = Object.entries(bodySchema(one)?.properties ?? {}).filter(([name]) => name in body);
  const moments = all.filter(([, schema]) => isMoment(schema));
  const span = moments
    .map(([name]) => Date.parse(body[name] as string))
    .filter((time) => !Number.isNaN(time));
  const days = Math.ceil((Math.max(...span) - Math.min(...span)) / 86_400_000) + 40;
  const isMoved = moments.some(([name]) => fields.has(name));
  if (isMoved) moved += days;
  const changed = all.flatMap(([name, schema]) => {
    if (!fields.has(name) && !(isMoved && isMoment(schema))) return [];
    const value = another(schema, body[name], isMoment(schema) ? moved : undefined);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...body, ...Object.fromEntries(changed) };
}

/** How many days later the last body was. */
let moved = 0;

/**
 * Sends the example of every operation that adds something with a key, so that each feature has a row: the first, with
 * the id that the examples of others name. Returns the ids that no example can foresee.
 */
export async function addExamples(
  service: TestedService,
  { key }: CallOptions,
  facts?: Facts,
): Promise<Examples> {
  const examples = await Examples.of(service, facts);
  for (const one of inWorkingOrder(operations)) {
    const isAdding = one.method === 'POST' || makes(one);
    if (isAdding && one.operation.security.some((scheme) => 'bearerAuth' in scheme))
      await examples.send(service, one, { key });
  }
  return examples;
}
