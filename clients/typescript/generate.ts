import { readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString, COMMENT_HEADER, type SchemaObject } from 'openapi-typescript';
import ts from 'typescript';

// node clients/typescript/generate.ts <file>: the types of openapi.json as `openapi-typescript` has them, but for int64.
const document = readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8');
const inject = "import type { Int64 } from './int64.ts';\n";
const types = await openapiTS(document, { inject, transform, silent: true });
writeFileSync(process.argv[2]!, COMMENT_HEADER + astToString(types));

function transform({ format, type }: SchemaObject): ts.TypeNode | undefined {
  if (format !== 'int64') return undefined;
  const int64 = ts.factory.createTypeReferenceNode('Int64');
  if (!type?.includes('null')) return int64;
  return ts.factory.createUnionTypeNode([int64, ts.factory.createLiteralTypeNode(ts.factory.createNull())]);
}
