import type { OpenAPIObject } from '@nestjs/swagger';
import type { Operation } from '../openapi/schemas.js';

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
  /** Where it stands in the reference: `/pets/createPet`, which is also the fragment of its address. */
  readonly place: string;
  /** Relative to the root of the site: `docs#/pets/createPet`. */
  readonly address: string;
  readonly operation: Operation;
}

type Paths = OpenAPIObject['paths'];

/** Every operation of the document. */
export function operationsOf({ paths }: OpenAPIObject): NamedOperation[] {
  return named(paths);
}

/** What the service sends by itself. */
export function webhooksOf({ webhooks = {} }: OpenAPIObject): NamedOperation[] {
  return named(webhooks).map((one) => ({ ...one, place: `/webhooks/${one.id}` }));
}

function named(paths: Paths): NamedOperation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Operation>).map(([method, operation]) => {
      const { operationId: id = '', summary = '', description = '', tags: [tag = ''] = [] } = operation;
      const name = `${method.toUpperCase()} ${path}`;
      const mark = operation.deprecated ? 'deprecated' : operation['x-stability'];
      const place = `/${tag}/${id}`;
      const address = `docs#${place}`;
      return { name, path, method, tag, id, summary, description, mark, place, address, operation };
    }),
  );
}
