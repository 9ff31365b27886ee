import type { NestInterceptor, Type } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, type ModulesContainer } from '@nestjs/core';
import { getSchemaPath } from '@nestjs/swagger';
import { OperatorError } from '../process/index.js';
import { isErrorCode } from './api-error.js';
import { EVENTS_TYPE, FORM_TYPE, isRaw, JSON_TYPE } from './bodies.js';
import { classesIn, type Enumeration, fieldsIn } from './dto.js';
import { isDay } from './formats.js';
import {
  countAddresses,
  interceptFirst,
  isExcluded,
  isSse,
  methodOf,
  modelsOf,
  NO_ID,
  type OperationFacts,
  operationOf,
  type Parameter,
  parametersOf,
  sendsItself,
  tagsOf,
  wholeBodyOf,
} from './operation.js';
import { isPermission, NeedsBy } from './permissions.js';
import { isMixed } from './validation.js';

/** The operationId of a method without `@Operation`. */
export function defaultId(controller: string, method: string): string {
  return `${controller}_${method}`;
}

/** The declared facts of an operation, and the types of its method. */
export interface DeclaredOperation extends OperationFacts {
  /** The parameters that come from the path, the query or the body. */
  readonly parameters: readonly Parameter[];
  readonly bodies: readonly Type<object>[];
  /** The classes of answers and webhooks, and others that Swagger's decorators name. */
  readonly models: readonly Type<object>[];
  /** The media types of declared answers that are not JSON. */
  readonly notJson: readonly string[];
  readonly sendsItself: boolean;
  readonly tags: readonly string[];
  /** The number of addresses in the document; undefined if the document leaves the operation out. */
  readonly addresses?: number;
  /** The class of the body, if the method takes the whole validated body, without pipes of its own. */
  readonly wholeBody?: Type<object>;
}

function controllersIn(modules: ModulesContainer): Type[] {
  return new DiscoveryService(modules).getControllers().map(({ metatype }) => metatype as Type);
}

/** The methods of a controller that are routes, by name. */
function routesIn(controller: Type): [name: string, handler: object][] {
  const prototype = controller.prototype as { [method: string]: object };
  const names = new MetadataScanner().getAllMethodNames(prototype);
  return names.flatMap((name): [string, object][] => {
    const handler = prototype[name]!;
    return methodOf(handler) === undefined ? [] : [[name, handler]];
  });
}

/** Makes an interceptor run first for each method that reads a body. Call this before Nest registers the routes. */
export function interceptBodies(modules: ModulesContainer, interceptor: NestInterceptor): void {
  for (const controller of controllersIn(modules)) {
    const reading = routesIn(controller).filter(
      ([name, handler]) => operationOf(handler, controller, name).readsBody,
    );
    const handlers = reading.map(([, handler]) => handler);
    if (handlers.length > 0) interceptFirst(interceptor, controller, handlers);
  }
}

/** The operations of all controllers. */
export function declaredOperations(modules: ModulesContainer): DeclaredOperation[] {
  return controllersIn(modules).flatMap(operationsIn);
}

/** The operations of a controller. */
export function operationsIn(controller: Type): DeclaredOperation[] {
  return routesIn(controller).map(([name, handler]) => {
    const facts = operationOf(handler, controller, name);
    const parameters = parametersOf(controller, name).filter(({ part }) => part !== undefined);
    return {
      ...facts,
      id: facts.id === NO_ID ? defaultId(controller.name, name) : facts.id,
      parameters,
      bodies: typesOf(parameters.filter(({ part }) => part === 'body')),
      models: modelsOf(handler, controller),
      notJson: notJsonOf(facts, handler),
      sendsItself: sendsItself(controller, name),
      tags: tagsOf(handler, controller),
      addresses: isExcluded(handler, controller) ? undefined : countAddresses(handler, controller),
      wholeBody: wholeBodyOf(handler, controller, name),
    };
  });
}

const typesOf = (parameters: readonly Parameter[]) => parameters.flatMap(({ type = [] }) => type);

const isForm = ({ takes }: OperationFacts) => takes?.types.every((type) => type === FORM_TYPE) ?? false;

/** The fields of a class that accept a number or boolean in JSON, but not the same value as text. */
function withoutText(type: Type<object>): string[] {
  return fieldsIn(type).flatMap(([name, { options, schema, accepts, read }]) => {
    const [kind] = [schema.type].flat();
    const isText = kind !== 'integer' && kind !== 'number' && kind !== 'boolean';
    const { example = kind === 'boolean' ? true : (schema.minimum ?? 0) } = options;
    const takes = (sent: unknown) => accepts(read(sent, {}, ''));
    return isText || !takes(example) || takes(String(example)) ? [] : [name];
  });
}

function notJsonOf({ successes }: OperationFacts, handler: object): string[] {
  const types = successes.flatMap(({ gives }) => gives?.types ?? []).filter((type) => type !== JSON_TYPE);
  return isSse(handler) ? [...types, EVENTS_TYPE] : types;
}

/** The DTO classes that are schemas of the document: bodies, answers, webhooks, and the classes inside them. */
export function schemasOf(operations: readonly DeclaredOperation[]): Set<Type<object>> {
  return withInside(operations.flatMap(({ bodies, models }) => [...bodies, ...models]));
}

/** Classes, and the classes inside them. */
export function withInside(types: readonly Type<object>[]): Set<Type<object>> {
  const all = new Set(types);
  // The loop also visits the classes that it adds to the set.
  for (const type of all) for (const inside of classesIn(type)) all.add(inside);
  return all;
}

/** The enumerations in the fields of operations. */
export function enumerationsIn(operations: readonly DeclaredOperation[]): Enumeration[] {
  const classes = new Set([
    ...schemasOf(operations),
    ...operations.flatMap(({ parameters }) => typesOf(parameters)),
  ]);
  return [...classes].flatMap((type) => fieldsIn(type).flatMap(([, { kind }]) => kind.enumeration ?? []));
}

/** The name of the schema of a page: `listPets` answers with `Pets`. */
export const pageName = (operationId: string): string => operationId.replace(/^list/, '');

/** The descriptions of tags by their names. */
export type Tags = Readonly<Record<string, string>>;

/**
 * Checks the declarations of all operations at the start.
 * @param maxSeconds the longest time that the operator allows an operation
 * @throws OperatorError that names every invalid operation and DTO, or every operation above `maxSeconds`
 */
export function requireSound(modules: ModulesContainer, tags: Tags, maxSeconds: number): void {
  const all = declaredOperations(modules);
  const problems = problemsIn(all, tags);
  if (problems.length > 0) throw new OperatorError(problems.join(' '));
  const longer = all.flatMap(({ id, seconds = 0 }) =>
    seconds > maxSeconds ? [`${id} may take ${seconds} seconds`] : [],
  );
  if (longer.length > 0)
    throw new OperatorError(`OPERATION_MAX_SECONDS is ${maxSeconds}, but ${longer.join(', ')}.`);
}

/** The problems of operations and of their DTOs, each in a sentence. */
export function problemsIn(all: readonly DeclaredOperation[], described: Tags = {}): string[] {
  const operationsWith = (find: (facts: DeclaredOperation) => readonly string[]) =>
    all.flatMap((facts) => {
      const found = find(facts);
      return found.length > 0 ? [`${facts.id} (${found.join(', ')})`] : [];
    });
  const idsOf = (isWrong: (facts: DeclaredOperation) => boolean) =>
    all.flatMap((facts) => (isWrong(facts) ? [facts.id] : []));
  const closed = idsOf(
    ({ access, needs, permissions }) =>
      access === 'bearer' && needs !== 'nothing' && permissions.length === 0,
  );
  const open = idsOf(({ access, needs }) => access !== 'bearer' && needs !== undefined);
  const undeclared = operationsWith(({ permissions }) => permissions.filter((name) => !isPermission(name)));
  const unseen = idsOf(({ needs, wholeBody }) => needs instanceof NeedsBy && needs.body !== wholeBody);
  const untagged = idsOf(({ addresses, tags }) => addresses !== undefined && tags.length === 0);
  const undescribed = operationsWith(({ addresses, tags }) =>
    addresses === undefined ? [] : tags.filter((name) => !Object.hasOwn(described, name)),
  );
  const unnamed = operationsWith(({ errors }) => Object.keys(errors).filter((code) => !isErrorCode(code)));
  const unrepeatable = operationsWith(({ idempotent, notJson }) => (idempotent ? notJson : []));
  const sending = idsOf((facts) => facts.idempotent && facts.sendsItself);
  const unversioned = idsOf(({ addresses }) => addresses === 0);
  const several = idsOf(({ addresses = 0 }) => addresses > 1);
  const twice = all.map(({ id }) => id).filter((id, i, ids) => ids.indexOf(id) < i);
  const mixed = new Set(all.flatMap(({ parameters }) => typesOf(parameters).filter(isMixed)));
  return [
    ...all.flatMap(problemsOf),
    ...twice.map((id) => `Two operations have the id ${id}.`),
    ...namedTwice(all).map((name) => `Two different schemas have the name ${name}.`),
    closed.length > 0 &&
      `No permission is named for ${closed.join(', ')}: add needs: 'pets:write' to @Operation, or needs: 'nothing' if any key will do, or @Public().`,
    open.length > 0 &&
      `API keys do not open ${open.join(', ')}, so needs has no effect there: remove needs, or @Public() from the method or its controller.`,
    undeclared.length > 0 &&
      `No feature declares permissions of ${undeclared.join(', ')}: name them in a @Feature that is in the list of features.`,
    unseen.length > 0 &&
      `With needsBy(), the method must take the whole body, by @Body() of the class that needsBy() names, without pipes of its own: ${unseen.join(', ')}.`,
    untagged.length > 0 &&
      `No tag is named for ${untagged.join(', ')}: write @ApiTags() at the controller, or leave it out of the document by @ApiExcludeController().`,
    undescribed.length > 0 &&
      `No feature describes tags of ${undescribed.join(', ')}: write tags: { pets: 'The animals.' } in its @Feature.`,
    unversioned.length > 0 &&
      `The document cannot show an operation whose only version is VERSION_NEUTRAL: add a version, or @ApiExcludeEndpoint(), to ${unversioned.join(', ')}.`,
    several.length > 0 &&
      `The document needs one operation for each path, version and HTTP method: write a method for each address of ${several.join(', ')}.`,
    unnamed.length > 0 &&
      `No feature declares errors of ${unnamed.join(', ')}: name them in a @Feature that is in the list of features.`,
    unrepeatable.length > 0 &&
      `Only answers in JSON can be repeated for an Idempotency-Key: answer with JSON, or remove @Idempotent() from ${unrepeatable.join(', ')}.`,
    sending.length > 0 &&
      `A method with @Idempotent() must return its answer, and use @Res() only with { passthrough: true }: ${sending.join(', ')}.`,
    mixed.size > 0 &&
      `A DTO has either fields or decorators of class-validator and class-transformer, not both: ${[...mixed].map(({ name }) => name).join(', ')}.`,
  ].filter((problem) => problem !== false);
}

/** The names of the document's own schemas, which no class may have. */
const OWN_SCHEMAS = ['Error', 'ErrorCode'];

/** The names that different classes or enumerations share: the document would show one schema for them. */
function namedTwice(all: readonly DeclaredOperation[]): string[] {
  const meanings = new Map<string, unknown>(OWN_SCHEMAS.map((name) => [name, undefined]));
  const note = (name: string, meaning: unknown): string[] => {
    const isDifferent = meanings.has(name) && meanings.get(name) !== meaning;
    meanings.set(name, meaning);
    return isDifferent ? [name] : [];
  };
  const nameOf = (type: Type) => getSchemaPath(type).split('/').at(-1)!;
  const classes = [...schemasOf(all)].filter(
    (type) => fieldsIn(type).length > 0 || OWN_SCHEMAS.includes(nameOf(type)),
  );
  return [
    ...classes.flatMap((type) => note(nameOf(type), type)),
    ...all.flatMap(({ id, isList }) => (isList ? note(pageName(id), id) : [])),
    ...enumerationsIn(all).flatMap(({ name, meanings: of }) => note(name, JSON.stringify(of()))),
  ];
}

/** The problems of a `@Sunset`. */
function sunsetProblems({ sunset }: DeclaredOperation): string[] {
  if (!sunset) return [];
  const { deprecated, day, successor } = sunset;
  const wrong = [deprecated, day].filter((date) => !isDay(date));
  if (wrong.length > 0) return [`has a @Sunset() of ${wrong.join(', ')}: write a day as YYYY-MM-DD`];
  if (day <= deprecated) return [`has a @Sunset() on ${day}, before its deprecation on ${deprecated}`];
  return successor.startsWith('/') ? [] : [`has a @Sunset() with the successor ${successor}: write its path`];
}

const isWithin = (status: unknown, least: number, most: number): boolean =>
  Number.isInteger(status) && Number(status) >= least && Number(status) <= most;

/** Larger bodies belong in object storage. */
const MAX_BYTES = 32 * 1024 * 1024;

/** The problems of one operation, each in a sentence that names the operation. */
function problemsOf(operation: DeclaredOperation): string[] {
  const { id, takes, successes, errors, seconds = 1, access, idempotent } = operation;
  const { types = [], maxBytes = 1 } = takes ?? {};
  const statuses = successes.map(({ status }) => status);
  const whole = operation.parameters.filter(({ isWhole }) => isWhole);
  const untyped = whole.flatMap(({ part, type }) => (type ? [] : part!));
  const unread = typesOf(whole.filter(({ part }) => part !== 'body' || isForm(operation))).flatMap(
    withoutText,
  );
  const found = [
    maxBytes > MAX_BYTES && `may take a body of at most ${MAX_BYTES} bytes, not ${maxBytes}`,
    !(maxBytes > 0) && `may take a body of ${maxBytes} bytes`,
    !(seconds > 0) && `may take ${seconds} seconds`,
    !statuses.every((status) => isWithin(status, 200, 399)) && `has a success status ${statuses.join(', ')}`,
    !Object.values(errors).every((status) => isWithin(status, 400, 599)) &&
      `has an error status ${Object.values(errors).join(', ')}`,
    operation.conditional && !operation.entity && 'has @IfMatch(), but its controller has no @EntityTags()',
    idempotent && access === 'public' && 'is public, but @Idempotent() needs the account of a caller',
    untyped.length > 0 &&
      !types.some(isRaw) &&
      `has a ${untyped.join(' and a ')} that nothing checks: its type must be a class, imported without "type"`,
    unread.length > 0 &&
      `gets its values as text, as from any query or form, but the fields ${unread.join(', ')} cannot read text: use IntegerParam and its like`,
    ...sunsetProblems(operation),
  ];
  return found.filter((problem) => problem !== false).map((problem) => `${id} ${problem}.`);
}
