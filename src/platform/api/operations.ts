import { StreamableFile, type Type } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, type ModulesContainer } from '@nestjs/core';
import { getSchemaPath } from '@nestjs/swagger';
import { OperatorError } from '../process/index.js';
import { isDeclared } from './api-error.js';
import { EVENTS_TYPE, FORM_TYPE, isRaw, JSON_TYPE } from './bodies.js';
import { fieldsIn, type Kind } from './dto.js';
import {
  BODY,
  hasBody,
  isSse,
  methodOf,
  NO_ID,
  type OperationFacts,
  operationOf,
  placesOf,
  sendsItself,
} from './operation.js';
import { isPermission } from './permissions.js';
import { isMixed } from './validation.js';

/** The operationId of a method without `@Operation`. */
export function defaultId(controller: string, method: string): string {
  return `${controller}_${method}`;
}

/** What the decorators of a method declare, and its types. */
export interface DeclaredOperation extends OperationFacts {
  /** The classes of its parameters: of the path, the query and the body; and of the body alone. */
  readonly parameters: readonly Type<object>[];
  readonly bodies: readonly Type<object>[];
  /** What it may answer that is not JSON, as far as the method says: media types, and the class that it returns. */
  readonly others: readonly string[];
  readonly sendsItself: boolean;
}

/** What the decorators of all controllers declare. */
export function declaredOperations(modules: ModulesContainer): DeclaredOperation[] {
  const controllers = new DiscoveryService(modules).getControllers();
  return controllers.flatMap(({ metatype }) => operationsIn(metatype as Type));
}

/** What the decorators of a controller declare. */
export function operationsIn(controller: Type): DeclaredOperation[] {
  const prototype = controller.prototype as { [method: string]: object };
  const names = new MetadataScanner().getAllMethodNames(prototype);
  return names.flatMap((name): DeclaredOperation[] => {
    const handler = prototype[name]!;
    if (methodOf(handler) === undefined) return [];
    const facts = operationOf(handler, controller, name);
    const types = (Reflect.getMetadata('design:paramtypes', prototype, name) ?? []) as Type<object>[];
    const returned = Reflect.getMetadata('design:returntype', prototype, name) as Type | undefined;
    return [
      {
        ...facts,
        id: facts.id === NO_ID ? defaultId(controller.name, name) : facts.id,
        parameters: types.filter((type) => typeof type === 'function'),
        bodies: placesOf(BODY, controller, name).flatMap((place) => types[place] ?? []),
        others: othersOf(facts, handler, returned),
        sendsItself: sendsItself(controller, name),
      },
    ];
  });
}

/** Classes of what is not sent as JSON. */
const OTHERS = new Set<unknown>([StreamableFile, Buffer, Uint8Array, String]);

function othersOf({ successes }: OperationFacts, handler: object, returned?: Type): string[] {
  const types = successes.flatMap(({ gives }) => gives?.types ?? []).filter((type) => type !== JSON_TYPE);
  if (isSse(handler)) types.push(EVENTS_TYPE);
  if (returned && OTHERS.has(returned)) types.push(returned.name);
  return [...new Set(types)];
}

/** The classes of DTOs that are schemas of the document: what operations take as bodies, give and send, with those in their fields. */
function schemasOf(operations: readonly DeclaredOperation[]): Set<Type<object>> {
  const all = new Set<Type<object>>();
  for (const { bodies, returns, webhook } of operations)
    for (const type of [...bodies, returns, webhook?.body]) if (type) all.add(type);
  // It grows while it is walked.
  for (const type of all)
    for (const [, { kind }] of fieldsIn(type)) for (const model of kind.models ?? []) all.add(model);
  return all;
}

/** The enumerations in the fields of operations. */
export function enumerationsIn(operations: readonly DeclaredOperation[]): NonNullable<Kind['enumeration']>[] {
  const classes = new Set([...schemasOf(operations), ...operations.flatMap((one) => one.parameters)]);
  return [...classes].flatMap((type) => fieldsIn(type).flatMap(([, { kind }]) => kind.enumeration ?? []));
}

/** The name of the schema of a page: `listPets` answers with `Pets`. */
export const pageName = (operationId: string): string => operationId.replace(/^list/, '');

/**
 * Checks what all operations declare, once, at the start.
 * @param mostSeconds what the operator allows an operation to take
 * @throws Error that names every operation, and every DTO, that cannot work; OperatorError that names every one that takes longer
 */
export function requireSound(modules: ModulesContainer, mostSeconds: number): void {
  const all = declaredOperations(modules);
  const problems = problemsIn(all);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const longer = all.flatMap(({ id, seconds = 0 }) =>
    seconds > mostSeconds ? [`${id} may take ${seconds} seconds`] : [],
  );
  if (longer.length > 0)
    throw new OperatorError(`OPERATION_MAX_SECONDS is ${mostSeconds}, and ${longer.join(', ')}.`);
}

/** What cannot work of some operations, and of their DTOs, each in a sentence. */
export function problemsIn(all: readonly DeclaredOperation[]): string[] {
  const among = (of: (facts: DeclaredOperation) => readonly string[]) =>
    all.flatMap((one) => {
      const found = of(one);
      return found.length > 0 ? [`${one.id} (${found.join(', ')})`] : [];
    });
  const closed = among(({ access, permissions }) =>
    access === 'bearer' ? permissions.filter((one) => !isPermission(one)) : [],
  );
  const unnamed = among(({ errors }) => Object.keys(errors).filter((code) => !isDeclared(code)));
  const unrepeatable = among(({ idempotent, others }) => (idempotent ? others : []));
  const sending = all.filter((one) => one.idempotent && one.sendsItself).map(({ id }) => id);
  const twice = all.map(({ id }) => id).filter((id, i, ids) => ids.indexOf(id) < i);
  const mixed = new Set(all.flatMap(({ parameters }) => parameters.filter(isMixed)));
  return [
    ...all.flatMap(problemsOf),
    ...twice.map((id) => `Two operations have the id ${id}.`),
    ...namedTwice(all).map((name) => `Two different schemas have the name ${name}.`),
    closed.length > 0 &&
      `No feature declares permissions of ${closed.join(', ')}: its @Feature has to name them, or mark the operation.`,
    unnamed.length > 0 &&
      `No feature declares errors of ${unnamed.join(', ')}: its @Feature has to name them, and the list of features has it.`,
    unrepeatable.length > 0 &&
      `Only JSON can be given again for an Idempotency-Key, and @Idempotent() stands at ${unrepeatable.join(', ')}.`,
    sending.length > 0 &&
      `What is idempotent must return its answer, by @Res({ passthrough: true }): ${sending.join(', ')}.`,
    mixed.size > 0 &&
      `A DTO has either fields or decorators of class-validator and class-transformer, not both: ${[...mixed].map(({ name }) => name).join(', ')}.`,
  ].filter((one) => one !== false);
}

/** The names that two different classes, or enumerations, have in the document: it would show one of them for both. */
function namedTwice(all: readonly DeclaredOperation[]): string[] {
  const meanings = new Map<string, unknown>();
  const note = (name: string, meaning: unknown): string[] => {
    const isOther = meanings.has(name) && meanings.get(name) !== meaning;
    meanings.set(name, meaning);
    return isOther ? [name] : [];
  };
  const classes = [...schemasOf(all)].filter((type) => fieldsIn(type).length > 0);
  return [
    ...classes.flatMap((type) => note(getSchemaPath(type).split('/').at(-1)!, type)),
    ...all.flatMap(({ id, isList }) => (isList ? note(pageName(id), id) : [])),
    ...enumerationsIn(all).flatMap(({ name, meanings: of }) => note(name, JSON.stringify(of()))),
  ];
}

/** What an operation may ask for, whatever the operator allows: the most of `OPERATION_MAX_SECONDS`. */
const MOST_SECONDS = 30;

/** What is larger is no request, but a file that is sent elsewhere. */
const MOST_BYTES = 32 * 1024 * 1024;

/** RFC 9110, 8.3.1, in small letters, or a range of them (12.5.1). */
const MEDIA_TYPE = /^[a-z]+\/(?:\*|[a-z\d][a-z\d!#$&^_.+-]*)$/;

/** What of an operation cannot be taken, answered or documented, each in a sentence that names it. */
function problemsOf({ id, seconds = 1, takes, successes, returns }: DeclaredOperation): string[] {
  const found: (string | false)[] = [];
  found.push(
    !(seconds > 0 && seconds <= MOST_SECONDS) &&
      `may take ${MOST_SECONDS} seconds, not ${seconds}: what takes longer is a job`,
  );
  const noTypes = (verb: string, types: readonly string[]) => {
    const wrong = types.filter((type) => !MEDIA_TYPE.test(type));
    return (types.length === 0 || wrong.length > 0) && `${verb} no media type: ${wrong.join(', ')}`;
  };
  if (takes) {
    const { types, maxBytes, example, files } = takes;
    found.push(
      noTypes('takes', types),
      !(Number.isInteger(maxBytes) && maxBytes > 0 && maxBytes <= MOST_BYTES) &&
        `may take a body of 1 to ${MOST_BYTES} bytes, not ${maxBytes}`,
      types.some(isRaw) && example === undefined && 'has no example of what it takes',
      types.includes(FORM_TYPE) && !files && 'does not name the files of its form',
    );
  }
  const statuses = successes.map(({ status }) => status);
  found.push(
    new Set(statuses).size < statuses.length && `has two successes with one status: ${statuses.join(', ')}`,
    statuses.includes(206) &&
      !statuses.includes(304) &&
      'gives parts (206), and has to tell by 304 who has them',
  );
  for (const { status, gives } of successes) {
    if (!gives) continue;
    const { types, example } = gives;
    found.push(
      !hasBody(status) && `gives a body with ${status}, which has none`,
      noTypes('gives', types),
      types.some((type) => type !== JSON_TYPE) && example === undefined && 'has no example of what it gives',
      types.includes(JSON_TYPE) && !returns && 'returns no class to give as JSON',
    );
  }
  return found.filter((one) => one !== false).map((one) => `${id} ${one}.`);
}
