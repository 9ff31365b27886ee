import type { OpenAPIObject } from '@nestjs/swagger';
import { type Placed, placedIn } from '../openapi/schemas.js';

export interface NamedOperation extends Placed {
  /** `POST /pets`. */
  readonly name: string;
  readonly tag: string;
  readonly id: string;
  readonly summary: string;
  readonly description: string;
  /** `deprecated`, or its stability. */
  readonly mark?: string;
  /** The fragment of its place in the reference and in Swagger UI: `/pets/createPet`. */
  readonly place: string;
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
  return placedIn(paths).map((placed) => {
    const { path, method, operation } = placed;
    const { operationId: id = '', summary = '', description = '', tags: [tag = ''] = [] } = operation;
    const name = `${method.toUpperCase()} ${path}`;
    const mark = operation.deprecated ? 'deprecated' : operation['x-stability'];
    return { ...placed, name, tag, id, summary, description, mark, place: `/${tag}/${id}` };
  });
}
