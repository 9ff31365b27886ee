import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';
import { Checkout } from '../support/checkout.js';
import { ROOT } from '../support/npm.js';

describe('The linters', () => {
  let checkout: Checkout;
  beforeAll(() => (checkout = Checkout.copy()));
  afterAll(() => checkout.remove());

  test('refuse upward imports and circles, though they be of types, and nothing else', async () => {
    const wrong = [
      ['platform/process', 'platform/telemetry/log'],
      ['platform/telemetry', 'platform/api/api-error'],
      ['platform/api', 'platform/data/shape'],
      ['platform/data', 'platform/database/connections'],
      ['platform/server', 'platform/index'],
      ['platform/database', 'platform/safeguards/limiter'],
      ['platform/data', 'platform/safeguards/idempotency.service'],
      ['platform/data', 'platform/jobs/jobs'],
      ['platform/jobs', 'platform/safeguards/limiter'],
      ['platform/safeguards', 'platform/server/streams'],
      ['platform/server', 'platform/docs/openapi/document'],
      ['platform/docs', 'commands/command'],
      ['platform/docs', 'pets/pets.module'],
      ['auth', 'platform/server/streams'],
      ['categories', 'pets/pets.service'],
      ['pets', 'store/order.entity'],
      ['messages', 'store/orders.service'],
      ['messages', 'platform/database/connections'],
      ['store', 'messages/message.entity'],
      ['pets', 'newcomers/newcomers.service'],
      ['platform/server', 'newcomers/newcomers.service'],
      ['newcomers', 'platform/server/streams'],
      ['newcomers', 'platform/api/index'],
      ['pets', 'platform/data/fast-repository'],
      ['newcomers', 'commands/command'],
      ['newcomers', 'app.module'],
      ['newcomers', 'testing/service'],
      ['commands', 'testing/service'],
      ['testing', 'platform/api/fields'],
      ['testing', 'pets/pets.service'],
    ] as const;
    checkout.write('src/newcomers/newcomers.service.ts', 'export const none = 0;\n');
    for (const [i, [folder, target]] of wrong.entries())
      checkout.write(`src/${folder}/wrong-${i}.ts`, `export * from '${relative(folder, target)}.js';\n`);
    checkout.write('src/newcomers/one.ts', "export type { Two } from './two.js';\nexport type One = 1;\n");
    checkout.write('src/newcomers/two.ts', "export type { One } from './one.js';\nexport type Two = 2;\n");
    const right = ['../pets/pets.service.js', '../config.js', 'petstore/platform', 'petstore/product'];
    const lines = right.map((target) => `export * from '${target}';\n`);
    checkout.write('src/newcomers/right.ts', lines.join(''));
    const { output } = await checkout.depcruise();
    const refused = [...output.matchAll(/error .*?: (\S+) → /g)].map(([, file]) => file!);
    const expected = wrong.map(([folder], i) => `src/${folder}/wrong-${i}.ts`);
    expect(refused.filter((file) => !/\/(?:one|two)\.ts$/.test(file)).toSorted()).toEqual(
      expected.toSorted(),
    );
    expect(output).toMatch(/error circles: .*newcomers/);
  });

  test('refuse a look at the environment', async () => {
    checkout.write('src/pets/wrong.ts', 'export const port = process.env.PORT;\n');
    const { code, output } = await checkout.node('node_modules/oxlint/bin/oxlint', 'src/pets/wrong.ts');
    checkout.removeFile('src/pets/wrong.ts');
    expect([code, output]).toEqual([1, expect.stringContaining('(no-process-env)')]);
  });
});

test('The guide for modules explains every name that they may use of the platform', () => {
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
      return declarations!.filter((one) => !/\.(?:errors|permissions)\./.test(one.getSourceFile().fileName));
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
