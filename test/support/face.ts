import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from './npm.js';

/**
 * What a package promises to whoever compiles against it: each name that it exports, with its declaration as the compiler
 * writes it, without comments, and without what is private.
 * @param entry a file of declarations in the build
 */
export function faceOf(entry: string): string {
  const path = join(ROOT, 'dist/src', entry);
  const options = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext };
  const program = ts.createProgram([path], { ...options, skipLibCheck: true, noEmit: true, types: [] });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(path)!;
  const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(source)!);
  const printer = ts.createPrinter({ removeComments: true });
  const texts = exported
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((symbol) => {
      const own = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      // What features add to an interface stands in their files.
      const declarations = own.declarations!.filter(
        (one) => !one.getSourceFile().fileName.includes('.errors.'),
      );
      const lines = declarations
        .filter((one) => !one.getSourceFile().fileName.includes('.permissions.'))
        .map((one) => printer.printNode(ts.EmitHint.Unspecified, statementOf(one), one.getSourceFile()));
      return `// ${symbol.name}\n${lines.join('\n').replaceAll(/^ +private .*\n/gm, '')}`;
    });
  return `${texts.join('\n\n')}\n`;
}

/** The statement that a declaration is, or is a part of, such as that of a constant. */
function statementOf(node: ts.Node): ts.Node {
  return ts.isVariableDeclaration(node) ? node.parent.parent : node;
}
