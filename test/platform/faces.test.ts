import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';
import { Checkout } from '../support/checkout.js';
import { wrongImports } from '../support/imports.js';
import { ROOT } from '../support/npm.js';

test('Imports go one way: of every room of the platform, of existing features and of new ones', () => {
  const wrong = [
    ['platform/process', 'platform/telemetry/log'],
    ['platform/api', 'platform/data/shape'],
    ['platform/http', 'platform/index'],
    ['platform/jobs', 'platform/safeguards/limiter'],
    ['platform/safeguards', 'platform/http/streams'],
    ['platform/http', 'platform/docs/openapi/document'],
    ['platform/docs', 'pets/pets.module'],
    ['auth', 'platform/http/streams'],
    ['categories', 'pets/pets.service'],
    ['messages', 'platform/database/connections'],
    ['platform/http', 'newcomers/newcomers.service'],
    ['newcomers', 'platform/api/index'],
    ['pets', 'platform/data/fast-repository'],
    ['newcomers', 'testing/service'],
    ['commands', 'testing/service'],
    ['testing', 'pets/pets.service'],
  ] as const;
  const more: Record<string, string> = {};
  for (const [i, [folder, target]] of wrong.entries())
    more[`${folder}/wrong-${i}.ts`] = `export type * from '${relative(folder, target)}.js';\n`;
  const right = ['../pets/pets.service.js', '../config.js', 'petstore/platform', 'petstore/product'];
  more['newcomers/right.ts'] = right.map((target) => `export * from '${target}';\n`).join('');
  const refused = wrong.map(([folder, target], i) => `${folder}/wrong-${i}.ts → ${target}.ts`);
  expect(wrongImports(ROOT, more)).toEqual(refused);
});

test('The linter refuses a look at the environment, and a circle of imports, though it be of types', async () => {
  const checkout = Checkout.copy();
  checkout.write('src/pets/wrong.ts', 'export const port = process.env.PORT;\n');
  checkout.write('src/pets/one.ts', "export type { Two } from './two.js';\nexport type One = 1;\n");
  checkout.write('src/pets/two.ts', "export type { One } from './one.js';\nexport type Two = 2;\n");
  const { code, output } = await checkout.node('node_modules/oxlint/bin/oxlint', 'src/pets');
  checkout.remove();
  expect([code, output]).toEqual([1, expect.stringContaining('(no-process-env)')]);
  expect(output).toContain('import(no-cycle)');
});

test('The guide for modules explains every name of the platform that modules may use', () => {
  const read = (path: string) => readFileSync(path, 'utf8');
  const first = read('docs/extending.md');
  const pages = [...first.matchAll(/\]\(([\w-]+\.md)/g)].map(([, page]) => read(`docs/${page}`));
  const [guide, face] = [[first, ...pages].join(''), read('src/platform/index.ts')];
  const names = [...face.matchAll(/^export \{([^}]+)\}/gm)].flatMap(([, exported]) =>
    exported!.split(',').map((name) => name.trim().replace('type ', '')),
  );
  const explained = names.filter((name) => name !== '' && new RegExp(`\\b${name}\\b`).test(guide));
  expect(explained).toEqual(names.filter((name) => name !== ''));
  expect(names.length).toBeGreaterThan(50);
});

/** Each name that a file of declarations exports, as the compiler writes it, without comments and private members. */
function faceOf(entry: string): string {
  const path = join(ROOT, 'dist/src', entry);
  const { NodeNext } = ts.ModuleKind;
  const options = { module: NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, types: [] };
  const program = ts.createProgram([path], { ...options, skipLibCheck: true });
  const checker = program.getTypeChecker();
  const printer = ts.createPrinter({ removeComments: true });
  const print = (node: ts.Declaration) => {
    const statement = ts.isVariableDeclaration(node) ? node.parent.parent : node;
    return printer.printNode(ts.EmitHint.Unspecified, statement, node.getSourceFile());
  };
  return checker
    .getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(path)!)!)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((symbol) => {
      const { declarations } =
        symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      // What features add to an interface stands in their files.
      return declarations!.filter((one) => !/\.declarations\./.test(one.getSourceFile().fileName));
    })
    .map(print)
    .join('\n')
    .replaceAll(/^ +private .*\n/gm, '');
}

// `npm test -- faces -u` accepts a change that breaks no feature (docs/versioning.md).
test.each(['platform/index.d.ts', 'product.d.ts', 'testing/index.d.ts'])(
  'What teams compile against changes only knowingly: %s',
  (entry) => expect(faceOf(entry)).toMatchSnapshot(),
);
