import type { OpenAPIObject } from '@nestjs/swagger';
import { type Operation, operationsIn } from '../openapi/schemas.js';

export interface NamedOperation {
  /** `POST /pets`. */
  readonly name: string;
  readonly path: string;
  /** In lower case. */
  readonly method: string;
  readonly tag: string;
  readonly id: string;
  readonly summary: string;
  readonly description: string;
  /** `deprecated`, or its stability. */
  readonly mark?: string;
  /** The fragment of its place in the reference and in Swagger UI: `/pets/createPet`. */
  readonly place: string;
  readonly operation: Operation;
}

export function operationsOf({ paths }: OpenAPIObject): NamedOperation[] {
  return named(paths);
}

/** The webhooks of the document. */
export function webhooksOf({ webhooks = {} }: OpenAPIObject): NamedOperation[] {
  return named(webhooks).map((webhook) => ({ ...webhook, place: `/webhooks/${webhook.id}` }));
}

/** Places of operations relative to the root of the site: `reference#/pets/createPet` for `POST /pets`. */
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
