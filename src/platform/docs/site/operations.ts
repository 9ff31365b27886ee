import type { OpenAPIObject } from '@nestjs/swagger';
import { type Operation, operationsIn } from '../openapi/schemas.js';

/** An operation as the site names it. */
export interface NamedOperation {
  /** `POST /pets`. */
  readonly name: string;
  readonly path: string;
  /** In small letters. */
  readonly method: string;
  readonly tag: string;
  readonly id: string;
  readonly summary: string;
  readonly description: string;
  /** `deprecated`, or how unstable it is. */
  readonly mark?: string;
  /** Where it stands in the reference and in Swagger UI, as the fragment of the address: `/pets/createPet`. */
  readonly place: string;
  readonly operation: Operation;
}

/** Every operation of the document. */
export function operationsOf({ paths }: OpenAPIObject): NamedOperation[] {
  return named(paths);
}

/** What the service sends by itself. */
export function webhooksOf({ webhooks = {} }: OpenAPIObject): NamedOperation[] {
  return named(webhooks).map((one) => ({ ...one, place: `/webhooks/${one.id}` }));
}

/** Where the reference has each operation, relative to the root of the site: `reference#/pets/createPet` of `POST /pets`. */
export function linksTo(document: OpenAPIObject): Map<string, string> {
  return new Map(operationsOf(document).map(({ name, place }) => [name, `reference#${place}`]));
}

function named(paths: OpenAPIObject['paths']): NamedOperation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    operationsIn(item).map(([method, operation]) => {
      const { operationId: id = '', summary = '', description = '', tags: [tag = ''] = [] } = operation;
      const name = `${method.toUpperCase()} ${path}`;
      const mark = operation.deprecated ? 'deprecated' : operation['x-stability'];
      return { name, path, method, tag, id, summary, description, mark, place: `/${tag}/${id}`, operation };
    }),
  );
}
