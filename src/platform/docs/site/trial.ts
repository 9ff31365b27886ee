import type { OpenAPIObject } from '@nestjs/swagger';
import { JSON_TYPE } from '../../api/index.js';
import { answersOf } from '../openapi/bodies.js';
import { type Body, type Operation, partAt } from '../openapi/schemas.js';
import { nameOfIdAt, type NamedOperation, operationsOf } from './operations.js';

/** A part of the document, of which this file says what it has. */
type Node = Record<string, unknown>;
type Content = NonNullable<Body['content']>;

/** An operation that can follow on another one. */
interface Step {
  readonly path: string;
  readonly method: string;
  readonly place: string;
  readonly summary: string;
  /** By the fields of its body: of each value that an answer may have there, the next one. */
  readonly states?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/**
 * The document as the panels of the reference need it to send requests: without what the page says itself, which is nine
 * tenths, and with what is referred to in the place of each reference. Optional parameters have no example or default, which
 * would filter a list before its reader has asked for that. Each operation has, as `x-next`, what can follow on its success; as
 * `x-made`, what the id that it assigns is called, and which bodies take that; as `x-answers`, what its samples show of the
 * answer.
 */
export function trialOf(document: OpenAPIObject): object {
  return new Trial(document).written();
}

class Trial {
  private readonly operations: readonly NamedOperation[];

  constructor(private readonly document: OpenAPIObject) {
    this.operations = operationsOf(document);
  }

  written(): object {
    const { openapi, info, tags = [], servers, components } = this.document;
    const paths: Record<string, Record<string, object>> = {};
    for (const one of this.operations) (paths[one.path] ??= {})[one.method] = this.panelOf(one);
    return {
      openapi,
      info: { title: info.title, version: info.version },
      tags: tags.map(({ name }) => ({ name })),
      servers: byAddress(servers),
      paths,
      components: { securitySchemes: components?.securitySchemes },
    };
  }

  private panelOf(one: NamedOperation): object {
    const { operationId, tags, security, servers, parameters = [], responses } = one.operation;
    const given = this.resolved(parameters) as Node[];
    const body = this.resolved(one.operation.requestBody) as { content: Content } | undefined;
    const answers = Object.entries(responses);
    return {
      ...{ operationId, tags, security, servers: byAddress(servers) },
      parameters: given.map(({ description: _said, schema, ...parameter }) => {
        const { description: _too, example, default: _left, ...limits } = (schema ?? {}) as Node;
        const begun = parameter.required ? { example } : { 'x-example': example };
        return { ...parameter, schema: { ...limits, ...begun } };
      }),
      requestBody: body && { ...body, content: contentToSend(body.content) },
      responses: Object.fromEntries(
        answers.map(([status, { content }]) => [status, { content: content && typesOf(content) }]),
      ),
      'x-next': this.stepsAfter(one),
      'x-made': this.madeBy(one),
      'x-answers': answersOf(one.operation),
    };
  }

  /** Those which its answers link to, an operation that changes the same thing, and those whose body takes its id. */
  private stepsAfter({ path, method, operation }: NamedOperation): Step[] {
    const answers = Object.values(operation.responses);
    const linked = new Set(answers.flatMap(({ links = {} }) => Object.keys(links)));
    const taking = method === 'post' ? this.takersOf(nameOfIdAt(path, this.operations)).map(stepTo) : [];
    const moved = this.operations
      .filter((one) => linked.has(one.id) || (one.path === path && one.method === 'patch'))
      .filter((one) => !one.operation.deprecated)
      .map((one) => ({ one, states: this.statesIn(one.operation) }))
      .filter(({ one, states }) => states || (one.method === 'get' && method !== 'get'))
      .map(({ one, states }) => ({ ...stepTo(one), states }));
    return [...taking, ...moved];
  }

  /** Of its values in the order of the document, a field goes to the next, unless the description of one says that it is final. */
  private statesIn({ requestBody }: Operation): Step['states'] {
    const { content } = (this.resolved(requestBody) ?? {}) as Body;
    const { properties = {} } = content?.[JSON_TYPE]?.schema ?? {};
    const states = Object.entries(properties).flatMap(([name, property]) => {
      const { enum: values = [], 'x-enumDescriptions': meanings = {} } = property;
      const moves = values.slice(0, -1).map((value, i) => [String(value), values[i + 1]] as const);
      const open = moves.filter(([value]) => !/\bFinal\.$/.test(meanings[value] ?? ''));
      return open.length > 0 ? [[name, Object.fromEntries(open)]] : [];
    });
    return states.length > 0 ? Object.fromEntries(states) : undefined;
  }

  private madeBy({ path, method }: NamedOperation): object | undefined {
    const name = method === 'post' ? nameOfIdAt(path, this.operations) : undefined;
    if (name === undefined) return undefined;
    const bodies = this.takersOf(name).map((one) => ({ path: one.path, method: one.method }));
    return { name, bodies };
  }

  /** The operations whose body has a field of that name in its example. */
  private takersOf(name: string | undefined): NamedOperation[] {
    return this.operations.filter(({ operation }) => {
      const example = operation.requestBody?.content?.[JSON_TYPE]?.example as Node | undefined;
      return name !== undefined && example?.[name] !== undefined;
    });
  }

  /** @param within the references that have led here: one of them again would never end */
  private resolved(node: unknown, within: readonly string[] = []): unknown {
    if (Array.isArray(node)) return node.map((item) => this.resolved(item, within));
    if (node === null || typeof node !== 'object') return node;
    const { $ref, ...own } = node as Node & { $ref?: string };
    const all = Object.entries(own).map(([name, value]) => [name, this.resolved(value, within)]);
    if ($ref === undefined || within.includes($ref)) return Object.fromEntries(all);
    const found = partAt(this.document, $ref);
    return { ...(this.resolved(found, [...within, $ref]) as Node), ...Object.fromEntries(all) };
  }
}

function stepTo({ path, method, place, summary }: NamedOperation): Step {
  return { path, method, place, summary };
}

/** Of servers at one address, one choice: Swagger UI knows a server by its address. */
function byAddress(servers: OpenAPIObject['servers']): object[] | undefined {
  const all = servers && Map.groupBy(servers, ({ url }) => url);
  return all && [...all].map(([url, same]) => ({ url, description: namesOf(same) }));
}

/** `Production (this server)` and `Staging (this server)` are `Production and Staging (this server)`. */
function namesOf(same: readonly { description?: string }[]): string {
  const names = same.map(({ description = '' }) => description);
  const [end] = / \([^)]*\)$/.exec(names[0]!) ?? [];
  if (!end || !names.every((name) => name.endsWith(end))) return names.join(' and ');
  return names.map((name) => name.slice(0, -end.length)).join(' and ') + end;
}

/** What has an example is begun with that: its schema, which the page shows beside it, is not needed. */
function contentToSend(content: Content): Content {
  const all = Object.entries(content).map(([type, one]) => {
    const isBegunWith = type === JSON_TYPE && one.example !== undefined;
    return [type, isBegunWith ? { ...one, schema: { type: 'object' } } : one] as const;
  });
  return Object.fromEntries(all);
}

/** Of an answer, requests say which types they take. */
function typesOf(content: Content): object {
  return Object.fromEntries(Object.keys(content).map((type) => [type, {}]));
}
