import type { Checkout } from './checkout.js';
import { wrongImports } from './imports.js';

const TYPES = 'clients/typescript/src/schema.d.ts';

/**
 * Expects that a copy of this checkout with new features passes the linters, the compiler and its tests.
 * @param own names of the tests that came with the features
 * @param others names of the tests that hold for every feature
 * @param paths a pattern of the features' paths: this checkout's own run has tested all other paths
 */
export async function expectToPass(
  checkout: Checkout,
  own: string[],
  others: string[],
  paths: string,
): Promise<void> {
  const [news, files] = [own, [...own, ...others]].map((all) => all.map((name) => `test/${name}.test.ts`));
  const node = (...args: string[]) => run(checkout, ...args);
  const written = ['src/features.ts', ...checkout.find(`src/{${own.join()}}`), ...news!];
  await node('node_modules/oxlint/bin/oxlint', '--type-aware', '--deny-warnings', ...written);
  await node('node_modules/prettier/bin/prettier.cjs', '--check', ...written);
  expect(wrongImports(checkout.path)).toEqual([]);
  await build(checkout, news!);
  await node('clients/typescript/generate.ts', TYPES);
  checkout.env.OPERATIONS = paths;
  const output = await node(
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
    ...files!,
  );
  expect(output).toContain(`\nTest Suites: ${files!.length} passed, ${files!.length} total\n`);
}

/** Compiles a copy and its new tests, and writes its document. */
async function build(checkout: Checkout, tests: string[]): Promise<void> {
  // Besides compiling, `nest build` clears `dist` and copies these folders.
  checkout.removeFolder('dist');
  checkout.add('src/platform/docs/site/assets', 'dist/src/platform/docs/site/assets');
  checkout.add('docs/guides', 'dist/docs/guides');
  checkout.add('examples/kennel/src/kennel/point.png', 'dist/src/kennel/point.png');
  const include = ['src', 'ormconfig.ts', ...tests];
  const compilerOptions = { declaration: true };
  const options = { extends: './tsconfig.json', compilerOptions, include };
  checkout.write('tsconfig.all.json', JSON.stringify(options));
  await run(checkout, 'node_modules/typescript-7/bin/tsc', '--project', 'tsconfig.all.json');
  await run(checkout, 'dist/src/commands/petstore.js', 'openapi');
}

async function run(checkout: Checkout, ...args: string[]): Promise<string> {
  const { code, output } = await checkout.node(...args);
  expect(code === 0 ? '' : output).toBe('');
  return output;
}
