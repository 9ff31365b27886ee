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
import { anotherValue, bodySchema, isMoment } from './schema.js';
import { fieldOf, Tables } from './tables.js';
import type { TestedService } from './service.js';

const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/;

type Body = Record<string, unknown>;

/** The examples of a document, unchanged but for unforeseeable ids, and for unique values that another row has. */
export class Examples {
  private readonly made = new Map<string, string>();
  /** The row that uses each unique value. */
  private readonly holders = new Map<string, string>();

  private constructor(
    private readonly tables: Tables,
    private readonly facts: Facts,
  ) {}

  static async of({ databaseUrl }: Pick<TestedService, 'databaseUrl'>, facts: Facts = {}): Promise<Examples> {
    return new Examples(await Tables.of(databaseUrl, facts.tables), facts);
  }

  /** The JSON body for an operation. */
  bodyFor(placed: Placed): Body | undefined {
    const example = exampleOf(placed) as Body | undefined;
    if (!example) return undefined;
    const row = rowOf(placed);
    const conflicts = this.limitsOf(placed, example).filter(
      (limit) => (this.holders.get(limit.value) ?? row) !== row,
    );
    const body = withNewValues(placed, example, new Set(conflicts.flatMap(({ fields }) => fields)));
    for (const { value } of this.limitsOf(placed, body)) this.holders.set(value, row);
    return JSON.parse(this.fill(JSON.stringify(body))) as Body;
  }

  /** The body for an operation, of any type. */
  contentFor(placed: Placed): Content {
    const body = this.bodyFor(placed);
    return body ? { body } : contentOf(placed);
  }

  /** Sends the example of an operation with the required credentials, and learns from the answer. */
  async send(
    service: TestedService,
    placed: Placed,
    has: CallOptions,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const content = this.contentFor(placed);
    const answer = await call(service, placed.method, this.fill(addressOf(placed)), {
      ...credentialsFor(placed, has),
      ...content,
      headers: { ...content.headers, ...headers },
    });
    this.learn(placed, answer.text);
    return answer;
  }

  /** The source of a code sample, with the values of the body replaced. */
  sourceFor(placed: Placed, source: string): string {
    const example = (exampleOf(placed) ?? {}) as Body;
    const changed = Object.entries(this.bodyFor(placed) ?? {}).filter(
      ([name, value]) => value !== example[name],
    );
    const texts = changed.flatMap(([name, value]) =>
      typeof value === 'string' ? [[example[name] as string, value] as const] : [],
    );
    return texts.reduce((text, [from, to]) => text.replaceAll(from, () => to), this.fill(source));
  }

  /** Notes the id that an operation has created. All ids but UUIDs count up from 1, as in the examples. */
  learn(placed: Placed, answered: string): void {
    const [foreseen] = UUID.exec(JSON.stringify(successOf(placed).example) ?? '') ?? [];
    const [id] = UUID.exec(answered) ?? [];
    if (placed.method === 'POST' && foreseen && id) this.made.set(foreseen, id);
  }

  /** Replaces foreseen ids in a text by created ones. */
  fill(text: string): string {
    return text.replaceAll(new RegExp(UUID, 'g'), (id) => this.made.get(id) ?? id);
  }

  /** Unique constraints, each with the fields of a body that it covers, and their values. */
  private limitsOf(placed: Placed, body: Body): { fields: string[]; value: string }[] {
    const table = this.tables.of(placed);
    const declaredFields = this.facts.distinct?.[placed.operation.operationId] ?? [];
    const limits = (table?.limits ?? []).map(({ name, columns, isExclusion }) => {
      const fields = columns.map(fieldOf).filter((field) => field in body);
      // Different ranges may overlap.
      return {
        fields,
        value: isExclusion ? name : `${name} ${JSON.stringify(fields.map((field) => body[field]))}`,
      };
    });
    const declared = declaredFields.map((field) => ({
      fields: [field],
      value: `${table?.name ?? placed.path} ${field} ${JSON.stringify(body[field])}`,
    }));
    return [...limits, ...declared].filter(({ fields }) => fields.length > 0);
  }
}

/** The row that an operation creates or changes, by its address in the examples. */
function rowOf(placed: Placed): string {
  if (placed.method !== 'POST') return addressOf(placed);
  const collection = nameless(placed.path);
  const byId = operations.find(({ path }) => nameless(path) === `${collection}/{}`);
  const current = operations.find(({ path }) => nameless(path) === `${collection}/current`);
  return addressOf(byId ?? current ?? placed);
}

/** A body with new values in some fields. If one is a date or time, all dates and times move together. */
export function withNewValues(placed: Placed, body: Body, fields: ReadonlySet<string>): Body {
  const all = Object.entries(bodySchema(placed)?.properties ?? {}).filter(([name]) => name in body);
  const moments = all.filter(([, schema]) => isMoment(schema));
  const times = moments
    .map(([name]) => Date.parse(body[name] as string))
    .filter((time) => !Number.isNaN(time));
  const days = Math.ceil((Math.max(...times) - Math.min(...times)) / 86_400_000) + 40;
  const isMoved = moments.some(([name]) => fields.has(name));
  if (isMoved) movedDays += days;
  const changed = all.flatMap(([name, schema]) => {
    if (!fields.has(name) && !(isMoved && isMoment(schema))) return [];
    const value = anotherValue(schema, body[name], isMoment(schema) ? movedDays : undefined);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...body, ...Object.fromEntries(changed) };
}

let movedDays = 0;

/**
 * Sends the example of every operation that creates something with a key, so that each feature has a row: the first, with
 * the id in the examples of others. Returns the examples with the unforeseeable ids.
 */
export async function addExamples(
  service: TestedService,
  { key }: CallOptions,
  facts?: Facts,
): Promise<Examples> {
  const examples = await Examples.of(service, facts);
  for (const placed of inWorkingOrder(operations)) {
    const isAdding = placed.method === 'POST' || makes(placed);
    if (isAdding && placed.operation.security.some((scheme) => 'bearerAuth' in scheme))
      await examples.send(service, placed, { key });
  }
  return examples;
}
