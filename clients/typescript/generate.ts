import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import openapiTS, { astToString, COMMENT_HEADER, type SchemaObject } from 'openapi-typescript';
import ts from 'typescript';

// node clients/typescript/generate.ts <file>: the types of openapi.json as `openapi-typescript` has them, but for int64; and
// beside them, in operations.ts, what has to be known of the operations while they are called.
const document = readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8');
const inject = "import type { Int64 } from './int64.ts';\n";
const types = await openapiTS(document, { inject, transform, silent: true, defaultNonNullable: false });
writeFileSync(process.argv[2]!, COMMENT_HEADER + astToString(types));
writeFileSync(join(dirname(process.argv[2]!), 'operations.ts'), operationsOf(JSON.parse(document)));

function transform({ format, type }: SchemaObject): ts.TypeNode | undefined {
  if (format !== 'int64') return undefined;
  const int64 = ts.factory.createTypeReferenceNode('Int64');
  if (!type?.includes('null')) return int64;
  return ts.factory.createUnionTypeNode([int64, ts.factory.createLiteralTypeNode(ts.factory.createNull())]);
}

interface Described {
  parameters?: { name: string }[];
  responses: Record<string, object>;
}

function operationsOf({ paths }: { paths: Record<string, Record<string, Described>> }): string {
  const lines = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [], responses }]) => {
      const facts = [
        ...(parameters.some(({ name }) => name === 'Idempotency-Key') ? ['takesKey: true'] : []),
        ...('204' in responses ? ['answersNothing: true'] : []),
      ];
      return facts.length > 0 ? [`  '${method.toUpperCase()} ${path}': { ${facts.join(', ')} },`] : [];
    }),
  );
  return `// Generated from openapi.json by generate.ts.

/** What the document says of an operation. */
export interface Facts {
  /** Whether it has an \`Idempotency-Key\`, so that all its tries count as one. */
  takesKey?: boolean;
  /** Whether its success is 204, without a body. */
  answersNothing?: boolean;
}

/** Those of which there is something to say, by method and path. */
export const OPERATIONS: Readonly<Record<string, Facts>> = {
${lines.join('\n')}
};
`;
}
