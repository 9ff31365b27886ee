import type { INestApplication, Type } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, ModulesContainer } from '@nestjs/core';
import { NO_ID, type OperationFacts, operationOf } from '../../api/operation-facts.js';

/** The operationId of a method without `@Operation`. */
export function defaultId(controller: string, method: string): string {
  return `${controller}_${method}`;
}

/** What the decorators of all controllers declare, by operationId. */
export function declaredOperations(app: INestApplication): Map<string, OperationFacts> {
  const scanner = new MetadataScanner();
  const declared = new Map<string, OperationFacts>();
  for (const { metatype } of new DiscoveryService(app.get(ModulesContainer)).getControllers()) {
    const { name, prototype } = metatype as Type<{ [method: string]: object }>;
    for (const method of scanner.getAllMethodNames(prototype)) {
      const facts = operationOf(prototype[method], metatype as Type);
      declared.set(facts.id === NO_ID ? defaultId(name, method) : facts.id, facts);
    }
  }
  return declared;
}
