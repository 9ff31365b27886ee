import { StreamableFile, type Type } from '@nestjs/common';
import { SSE_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, MetadataScanner, type ModulesContainer } from '@nestjs/core';
import { OperatorError } from '../process/index.js';
import { isDeclared } from './api-error.js';
import { EVENTS_TYPE, JSON_TYPE } from './bodies.js';
import { methodOf, NO_ID, type OperationFacts, operationOf } from './operation.js';
import { isPermission } from './permissions.js';

/** The operationId of a method without `@Operation`. */
export function defaultId(controller: string, method: string): string {
  return `${controller}_${method}`;
}

/** What the decorators of a method declare, and its types. */
export interface DeclaredOperation extends OperationFacts {
  /** The classes of its parameters: of the path, the query and the body. */
  readonly parameters: readonly Type<object>[];
  /** What it may answer that is not JSON, as far as the method says: media types, and the class that it returns. */
  readonly others: readonly string[];
}

/** What the decorators of all controllers declare, by operationId. */
export function declaredOperations(modules: ModulesContainer): Map<string, DeclaredOperation> {
  const scanner = new MetadataScanner();
  const declared = new Map<string, DeclaredOperation>();
  for (const { metatype } of new DiscoveryService(modules).getControllers()) {
    const { name, prototype } = metatype as Type<{ [method: string]: object }>;
    for (const method of scanner.getAllMethodNames(prototype)) {
      if (methodOf(prototype[method]) === undefined) continue;
      const facts = operationOf(prototype[method], metatype as Type);
      const parameters = (Reflect.getMetadata('design:paramtypes', prototype, method) ??
        []) as Type<object>[];
      const returned = Reflect.getMetadata('design:returntype', prototype, method) as Type | undefined;
      const others = othersOf(facts, prototype[method], returned);
      declared.set(facts.id === NO_ID ? defaultId(name, method) : facts.id, { ...facts, parameters, others });
    }
  }
  return declared;
}

/** Classes of what is not sent as JSON. */
const OTHERS = new Set<unknown>([StreamableFile, Buffer, Uint8Array, String]);

function othersOf({ successes }: OperationFacts, handler: object, returned?: Type): string[] {
  const types = successes.flatMap(({ gives }) => gives?.types ?? []).filter((type) => type !== JSON_TYPE);
  if (Reflect.hasMetadata(SSE_METADATA, handler)) types.push(EVENTS_TYPE);
  if (returned && OTHERS.has(returned)) types.push(returned.name);
  return [...new Set(types)];
}

/**
 * Checks what all operations declare, at the start.
 * @param mostSeconds what the operator allows an operation to take
 * @throws Error that names every operation with a permission or an error that no feature declares, and every idempotent one
 *   whose answer could not be given again; OperatorError that names every operation that takes longer
 */
export function requireSound(modules: ModulesContainer, mostSeconds: number): void {
  const all = [...declaredOperations(modules)];
  const among = (of: (facts: DeclaredOperation) => string[]) =>
    all.flatMap(([id, facts]) => {
      const found = of(facts);
      return found.length > 0 ? [`${id} (${found.join(', ')})`] : [];
    });
  const closed = among(({ access, permissions }) =>
    access === 'bearer' ? permissions.filter((one) => !isPermission(one)) : [],
  );
  if (closed.length > 0)
    throw new Error(
      `No feature declares permissions of ${closed.join(', ')}: its @Feature has to name them, or mark the operation.`,
    );
  const unnamed = among(({ errors }) => Object.keys(errors).filter((code) => !isDeclared(code)));
  if (unnamed.length > 0)
    throw new Error(
      `No feature declares errors of ${unnamed.join(', ')}: its @Feature has to name them, and the list of features has it.`,
    );
  const unrepeatable = among(({ idempotent, others }) => (idempotent ? [...others] : []));
  if (unrepeatable.length > 0)
    throw new Error(
      `Only JSON can be given again for an Idempotency-Key, and @Idempotent() stands at ${unrepeatable.join(', ')}.`,
    );
  const longer = all.flatMap(([id, { seconds = 0 }]) =>
    seconds > mostSeconds ? [`${id} may take ${seconds} seconds`] : [],
  );
  if (longer.length > 0)
    throw new OperatorError(`OPERATION_MAX_SECONDS is ${mostSeconds}, and ${longer.join(', ')}.`);
}
