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
    operationsIn(item).map(([method, operation]) => {
      const { operationId: id = '', summary = '', description = '', tags: [tag = ''] = [] } = operation;
      const name = `${method.toUpperCase()} ${path}`;
      const mark = operation.deprecated ? 'deprecated' : operation['x-stability'];
      const place = `/${tag}/${id}`;
      const address = `docs#${place}`;
      return { name, path, method, tag, id, summary, description, mark, place, address, operation };
    }),
  );
}

/** What the path of an operation on one thing begins with: that at which such things are made, and the name of their id. */
const ONE = /^(.*)\/\{(\w+)\}/;

/** The name by which paths take the id of what is made at a path. */
export function nameOfIdAt(path: string, all: readonly NamedOperation[]): string | undefined {
  return all.map((one) => ONE.exec(one.path)).find((found) => found?.[1] === path)?.[2];
}

/** What makes the thing that a path names, and the name of its id there. */
export function makerOf(
  { path }: NamedOperation,
  all: readonly NamedOperation[],
): { maker: NamedOperation; id: string } | undefined {
  const [whole, collection, id] = ONE.exec(path) ?? [];
  const maker = all.find((one) => one.path === collection && one.method === 'post');
  return maker && whole === path ? { maker, id: id! } : undefined;
}
