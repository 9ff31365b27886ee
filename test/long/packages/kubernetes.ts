import { join } from 'node:path';
import ts from 'typescript';
import type { Manifest } from '../../support/manifests.js';

const OPTIONS: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  lib: ['lib.esnext.d.ts'],
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  types: [],
};

/**
 * What the schema that Kubernetes publishes says against manifests; each is named once. That schema lets fields pass
 * which it does not know; the types that are made from it do not, like the API itself.
 */
export async function schemaErrors(manifests: Manifest[]): Promise<string[]> {
  const values = await Promise.all(manifests.map(valueError));
  const types = typeErrors(manifests);
  return manifests.flatMap(({ kind, metadata }, index) => {
    const error = values[index] ?? types.get(index);
    return error ? `${kind} ${metadata.name}: ${error}` : [];
  });
}

/** Of types, formats and required fields. */
async function valueError(manifest: Manifest): Promise<string | undefined> {
  const models = (await import(`kubernetes-models/${manifest.apiVersion}`)) as Record<
    string,
    new (data: object) => { validate(): void }
  >;
  try {
    new models[manifest.kind]!(manifest).validate();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** By the index of the manifest: each is a line of a program that is compiled, not run. */
function typeErrors(manifests: Manifest[]): Map<number, string> {
  const path = join(import.meta.dirname, 'manifests.ts');
  const lines = manifests.map((manifest) => {
    const type = `import('kubernetes-models/${manifest.apiVersion}').I${manifest.kind}`;
    return `(${JSON.stringify(manifest)}) satisfies ${type};`;
  });
  const program = ts.createProgram([path], OPTIONS, hostWith(path, lines.join('\n')));
  const errors = ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const line = file?.fileName === path ? file.getLineAndCharacterOfPosition(start!).line : 0;
    return [line, ts.flattenDiagnosticMessageText(messageText, ' ')] as const;
  });
  return new Map(errors);
}

/** Files as they are, and one more that is not written. */
function hostWith(path: string, text: string): ts.CompilerHost {
  const host = ts.createCompilerHost(OPTIONS);
  return {
    ...host,
    getSourceFile: (name, version) =>
      name === path ? ts.createSourceFile(name, text, version) : host.getSourceFile(name, version),
  };
}
