import type { OpenAPIObject } from '@nestjs/swagger';
import type { Operation } from './placed.js';

interface Response {
  headers?: Record<string, unknown>;
  links?: Record<string, unknown>;
}

/**
 * Tells what can be called with the id of what was created: the operations on the address of its `Location`
 * (https://spec.openapis.org/oas/v3.1.1.html#link-object).
 */
export function addLinks({ paths }: OpenAPIObject): void {
  for (const [path, { post }] of Object.entries(paths)) {
    const created = Object.values(post?.responses ?? {}).find((one) => (one as Response).headers?.Location);
    if (created) (created as Response).links = linksTo(paths, path);
  }
}

function linksTo(paths: OpenAPIObject['paths'], path: string): Record<string, unknown> {
  const items = Object.entries(paths).flatMap(([other, item]) => {
    const [, parameter] = other.startsWith(`${path}/`)
      ? (/^\{(\w+)\}$/.exec(other.slice(path.length + 1)) ?? [])
      : [];
    return parameter ? [{ parameter, operations: [item.get, item.put, item.patch, item.delete] }] : [];
  });
  return Object.fromEntries(
    items.flatMap(({ parameter, operations }) =>
      operations
        .filter((one): one is Operation => one !== undefined)
        .map(({ operationId, summary }) => [
          operationId,
          { operationId, description: summary, parameters: { [parameter]: '$response.body#/id' } },
        ]),
    ),
  );
}
