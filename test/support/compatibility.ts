import { isDeepStrictEqual } from 'node:util';
import { NOT_BLANK, PLAIN } from '../../src/platform/api/formats.js';
import type { Operation } from '../../src/testing/document.js';

export interface Api {
  /** `x-release` is the release, beside the version of the interface; the document of 1.0.0 lacks it. */
  info: { version: string; 'x-release'?: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

interface Schema {
  $ref?: string;
  enum?: string[];
  anyOf?: Schema[];
  items?: Schema;
  pattern?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  [keyword: string]: unknown;
}

/** The direction of a schema: what a request accepts can only grow, what an answer contains can only shrink. */
type Direction = 'request' | 'answer';

const ERROR_CODE = '#/components/schemas/ErrorCode';
const LOWER_LIMITS = ['minimum', 'minLength', 'minItems'];
const UPPER_LIMITS = ['maximum', 'maxLength', 'maxItems'];

/**
 * The breaking changes that a later document must not contain: of stable operations within a version of the
 * interface, in any release; of beta operations within a minor release.
 */
export function findForbidden(before: Api, after: Api, today = new Date()): string[] {
  const partsOf = (version: string) => version.split('.').map(Number.parseFloat) as [number, number];
  const [was, is] = [partsOf(releaseOf(before)), partsOf(releaseOf(after))];
  const isMinor = is[0] > was[0] || (is[0] === was[0] && is[1] > was[1]);
  const isMajor = partsOf(after.info.version)[0] > partsOf(before.info.version)[0];
  const allowed = { stable: isMajor, beta: isMinor, experimental: true };
  return Object.entries(before.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) => {
      const sunset = operation['x-deprecated-sunset'] as string | undefined;
      const isOver = sunset !== undefined && new Date(sunset) <= today;
      if (isOver || allowed[stabilityOf(operation)]) return [];
      const found = new Comparison(before, after).operations(operation, after.paths[path]?.[method]);
      return found.map((what) => `${operation.operationId}: ${what}`);
    }),
  );
}

export function releaseOf({ info }: Api): string {
  return info['x-release'] ?? info.version;
}

class Comparison {
  private readonly compared = new Set<string>();

  constructor(
    private readonly before: Api,
    private readonly after: Api,
  ) {}

  operations(was: Operation, is?: Operation): string[] {
    if (!is) return ['is gone'];
    const breaks: string[] = [];
    if (is.operationId !== was.operationId) breaks.push(`is named ${is.operationId}`);
    if (rank(is) > rank(was)) breaks.push(`is ${stabilityOf(is)} now`);
    if (schemesOf(is) !== schemesOf(was)) breaks.push('asks for other credentials');
    return [...breaks, ...this.parameters(was, is), ...this.bodies(was, is), ...this.answers(was, is)];
  }

  private parameters(was: Operation, is: Operation): string[] {
    const [old, present] = [was, is].map(
      ({ parameters = [] }) => new Map(parameters.map((one) => [one.name, one])),
    );
    const names = [...new Set([...old!.keys(), ...present!.keys()])];
    return names.flatMap((name) => {
      const [before, after] = [old!.get(name), present!.get(name)];
      const where = `parameter ${name}`;
      if (!after) return [`${where} is gone`];
      const isAsked = after.required && !before?.required ? [`${where} is required`] : [];
      return before ? [...isAsked, ...this.schemas(before.schema, after.schema, 'request', where)] : isAsked;
    });
  }

  private bodies(was: Operation, is: Operation): string[] {
    const [before, after] = [schemaOf(was.requestBody), schemaOf(is.requestBody)];
    if (before && after) return this.schemas(before, after, 'request', 'body');
    return before === after ? [] : [before ? 'the body is gone' : 'a body is required'];
  }

  private answers(was: Operation, is: Operation): string[] {
    return Object.entries(was.responses).flatMap(([status, before]) => {
      const after = is.responses[status];
      // A client does not need a failure that no longer happens.
      if (!after) return status < '400' ? [`status ${status} is gone`] : [];
      const lost = Object.keys(before.headers ?? {}).filter((name) => !(name in (after.headers ?? {})));
      const headers = lost.map((name) => `header ${name} of ${status} is gone`);
      const [old, present] = [schemaOf(before), schemaOf(after)];
      const types = Object.keys(before.content ?? {}).filter((type) => !(type in (after.content ?? {})));
      headers.push(...types.map((type) => `${type} of ${status} is gone`));
      return old && present ? [...headers, ...this.schemas(old, present, 'answer', status)] : headers;
    });
  }

  private schemas(was: Schema, is: Schema, direction: Direction, where: string): string[] {
    const pair = JSON.stringify([was, is, direction]);
    if (this.compared.has(pair)) return [];
    if (was.$ref) this.compared.add(pair);
    const [before, after] = [resolve(this.before, was), resolve(this.after, is)];
    const breaks = ['type', 'format', 'const'].flatMap((keyword) =>
      isDeepStrictEqual(before[keyword], after[keyword])
        ? []
        : [`${keyword} of ${where} is ${String(after[keyword])}`],
    );
    breaks.push(...values(before, after, direction === 'answer' && was.$ref !== ERROR_CODE, where));
    if (direction === 'request') breaks.push(...narrowed(before, after, where));
    if (before.items && after.items)
      breaks.push(...this.schemas(before.items, after.items, direction, `${where}[]`));
    return [...breaks, ...this.properties(before, after, direction, where)];
  }

  private properties(was: Schema, is: Schema, direction: Direction, where: string): string[] {
    const [old, present] = [was.properties ?? {}, is.properties ?? {}];
    const [always, asked] = [new Set(was.required), new Set(is.required)];
    const breaks = Object.entries(old).flatMap(([name, before]) => {
      const after = present[name];
      return after
        ? this.schemas(before, after, direction, `${where}.${name}`)
        : [`${where}.${name} is gone`];
    });
    const lost = always.difference(asked).intersection(new Set(Object.keys(present)));
    const [changed, word] =
      direction === 'request' ? [asked.difference(always), 'is required'] : [lost, 'may be left out'];
    return [...breaks, ...[...changed].map((name) => `${where}.${name} ${word}`)];
  }
}

const stabilityOf = (one: Operation) =>
  (one['x-stability'] ?? 'stable') as 'stable' | 'beta' | 'experimental';
const rank = (one: Operation) => ['stable', 'beta', 'experimental'].indexOf(stabilityOf(one));

/** The security schemes. A newly needed permission breaks no client: keys have it unless their account lacks it. */
function schemesOf({ security }: Operation): string {
  return [...new Set(security.flatMap((one) => Object.keys(one)))].toSorted().join();
}

function schemaOf(owner?: { content?: Record<string, { schema: object }> }): Schema | undefined {
  return owner?.content?.['application/json']?.schema as Schema | undefined;
}

function resolve({ components }: Api, schema: Schema): Schema {
  if (schema.$ref) return resolve({ components } as Api, components.schemas[schema.$ref.split('/').pop()!]!);
  // An open enumeration: the known values, and any others.
  const [known, others] = schema.anyOf ?? [];
  return known?.enum && others?.type === 'string' ? known : schema;
}

/** Removed values, and in an answer also new ones: clients switch on values. */
function values(was: Schema, is: Schema, isClosed: boolean, where: string): string[] {
  const [old, present] = [new Set(was.enum), new Set(is.enum)];
  if (!was.enum) return is.enum ? [`${where} takes some values only`] : [];
  const gone = [...old.difference(present)].map((value) => `value ${value} of ${where} is gone`);
  const added = [...present.difference(old)].map((value) => `value ${value} of ${where} is new`);
  return isClosed ? [...gone, ...added] : gone;
}

/**
 * The pattern of a text. Release 1.0.0 described the same refusals by another pattern, or not at all; later
 * releases up to 2.0 wrote line separators unescaped.
 */
function patternOf({ type, pattern }: Schema): unknown {
  if (type !== 'string' || pattern === PLAIN) return undefined;
  return pattern === '\\S' || pattern?.includes('\u2028') ? NOT_BLANK : pattern;
}

/** An empty cursor was always refused, which documents before 3.0 did not say. */
const isOfCursor = (keyword: string, where: string) =>
  keyword === 'minLength' && where === 'parameter cursor';

function narrowed(was: Schema, is: Schema, where: string): string[] {
  const stricter = (keyword: string, sign: 1 | -1) => {
    const [old = -sign * Infinity, present = -sign * Infinity] = [was[keyword], is[keyword]] as number[];
    return sign * (present - old) > 0;
  };
  const limits = [
    ...LOWER_LIMITS.filter((keyword) => stricter(keyword, 1) && !isOfCursor(keyword, where)),
    ...UPPER_LIMITS.filter((keyword) => stricter(keyword, -1)),
  ];
  const others = was.default === is.default ? [] : ['default'];
  if (patternOf(was) !== patternOf(is)) others.push('pattern');
  return [...limits, ...others].map((keyword) => `${keyword} of ${where} is ${String(is[keyword])}`);
}
