import type { Type } from '@nestjs/common';
import { PATH_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, MetadataScanner, type ModulesContainer } from '@nestjs/core';
import { isDeclared } from './error-codes.js';
import { NO_ID, type OperationFacts, operationOf } from './operation-facts.js';
import { isPermission } from './permissions.js';

/** The operationId of a method without `@Operation`. */
export function defaultId(controller: string, method: string): string {
  return `${controller}_${method}`;
}

/** What the decorators of a method declare, and the classes of its parameters: of the path, the query and the body. */
export interface DeclaredOperation extends OperationFacts {
  readonly takes: readonly Type<object>[];
}

/** What the decorators of all controllers declare, by operationId. */
export function declaredOperations(modules: ModulesContainer): Map<string, DeclaredOperation> {
  const scanner = new MetadataScanner();
  const declared = new Map<string, DeclaredOperation>();
  for (const { metatype } of new DiscoveryService(modules).getControllers()) {
    const { name, prototype } = metatype as Type<{ [method: string]: object }>;
    for (const method of scanner.getAllMethodNames(prototype)) {
      if (!Reflect.hasMetadata(PATH_METADATA, prototype[method])) continue;
      const facts = operationOf(prototype[method], metatype as Type);
      const takes = (Reflect.getMetadata('design:paramtypes', prototype, method) ?? []) as Type<object>[];
      declared.set(facts.id === NO_ID ? defaultId(name, method) : facts.id, { ...facts, takes });
    }
  }
  return declared;
}

/** @throws Error that names every operation for keys whose permission is not in the list */
export function requirePermissions(modules: ModulesContainer): void {
  const lacking = [...declaredOperations(modules)].flatMap(([id, { access, permissions }]) => {
    const unknown = permissions.filter((one) => !isPermission(one));
    return access === 'bearer' && unknown.length > 0 ? [`${id} (${unknown.join(', ')})`] : [];
  });
  if (lacking.length === 0) return;
  throw new Error(
    `No feature declares permissions of ${lacking.join(', ')}: import the *.permissions.ts that does in its module, or mark it.`,
  );
}

/** @throws Error that names every operation whose errors nobody has declared */
export function requireErrors(modules: ModulesContainer): void {
  const lacking = [...declaredOperations(modules)].flatMap(([id, { errors }]) => {
    const unknown = Object.keys(errors).filter((code) => !isDeclared(code));
    return unknown.length > 0 ? [`${id} (${unknown.join(', ')})`] : [];
  });
  if (lacking.length === 0) return;
  throw new Error(
    `No feature declares errors of ${lacking.join(', ')}: import the *.errors.ts that does in its module, and list that in src/app.module.ts.`,
  );
}
