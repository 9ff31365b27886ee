import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import openapiTS, { astToString, COMMENT_HEADER, type SchemaObject } from 'openapi-typescript';
import ts from 'typescript';

// node clients/typescript/generate.ts <file>: writes the types that `openapi-typescript` makes of openapi.json, with `Int64`, and
// beside them operations.ts, the facts that calls need at run time.
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

/** Facts of an operation in the document. */
export interface Facts {
  /** Whether it accepts an \`Idempotency-Key\`, so that a write can be repeated. */
  takesKey?: boolean;
  /** Whether its success is 204, without a body. */
  answersNothing?: boolean;
}

/** The facts by method and path; operations without any are left out. */
export const OPERATIONS: Readonly<Record<string, Facts>> = {
${lines.join('\n')}
};
`;
}
