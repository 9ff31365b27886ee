import type { OpenAPIObject } from '@nestjs/swagger';
import { type Placed, placedIn } from '../openapi/schemas.js';

export interface NamedOperation extends Placed {
  /** `POST /pets`. */
  readonly name: string;
  readonly tag: string;
  readonly id: string;
  readonly summary: string;
  readonly description: string;
  /** `deprecated`, or the operation's stability. */
  readonly mark?: string;
  /** The fragment of its place in the reference and in Swagger UI: `/pets/createPet`. */
  readonly place: string;
}

/** The operations of a document, or its webhooks. @param group the first part of their places, if not the tag */
export function namedIn(paths: OpenAPIObject['paths'] = {}, group?: string): NamedOperation[] {
  return placedIn(paths).map((placed) => {
    const { path, method, operation } = placed;
    const { operationId: id = '', summary = '', description = '', tags: [tag = ''] = [] } = operation;
    const name = `${method.toUpperCase()} ${path}`;
    const mark = operation.deprecated ? 'deprecated' : operation['x-stability'];
    return { ...placed, name, tag, id, summary, description, mark, place: `/${group ?? tag}/${id}` };
  });
}

/** Places of operations relative to the root of the site: `reference#/pets/createPet` for `POST /pets`. */
export function linksTo({ paths }: OpenAPIObject): Map<string, string> {
  return new Map(namedIn(paths).map(({ name, place }) => [name, `reference#${place}`]));
}
