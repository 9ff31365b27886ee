import type { OpenAPIObject } from '@nestjs/swagger';
import type { OperationLinks } from './markdown.js';

/** An operation as the site names it. */
export interface NamedOperation {
  /** `POST /pets`. */
  readonly name: string;
  readonly tag: string;
  readonly id: string;
  readonly summary: string;
  readonly description: string;
  /** Where it stands in the reference. */
  readonly address: string;
}

/** Every operation of the document. */
export function operationsOf({ paths }: OpenAPIObject): NamedOperation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Described>).map(([method, operation]) => {
      const { operationId: id, summary, description = '', tags } = operation;
      const [tag] = tags;
      const name = `${method.toUpperCase()} ${path}`;
      return { name, tag, id, summary, description, address: `docs#/${tag}/${id}` };
    }),
  );
}

interface Described {
  operationId: string;
  summary: string;
  description?: string;
  tags: [string];
}

/** Their addresses, by their names. */
export function linksTo(operations: readonly NamedOperation[]): OperationLinks {
  return new Map(operations.map(({ name, address }) => [name, address]));
}
