import type { Checkout } from './checkout.js';

const TYPES = 'examples/typescript/schema.d.ts';

/**
 * Expects that a copy of this checkout with new features passes the linters, the compiler and its tests.
 * @param own names of the tests that came with the features
 * @param others names of those that hold for whatever a feature adds
 * @param paths a pattern of the features' paths: what is not new has been tried enough by this checkout's own run
 */
export async function expectToPass(
  checkout: Checkout,
  own: string[],
  others: string[],
  paths: string,
): Promise<void> {
  // As `nest build` does beside compiling.
  checkout.add('src/platform/docs/site/assets', 'dist/src/platform/docs/site/assets');
  checkout.add('docs/guides', 'dist/docs/guides');
  const [news, files] = [own, [...own, ...others]].map((all) => all.map((name) => `test/${name}.test.ts`));
  const include = ['src', 'ormconfig.ts', ...news!];
  checkout.write('tsconfig.all.json', JSON.stringify({ extends: './tsconfig.json', include }));
  const node = async (...args: string[]) => {
    const { code, output } = await checkout.node(...args);
    expect(code === 0 ? '' : output).toBe('');
    return output;
  };
  await node('node_modules/oxlint/bin/oxlint', '--type-aware', '--deny-warnings', 'src', ...news!);
  await node('node_modules/prettier/bin/prettier.cjs', '--check', 'src', ...news!);
  expect(await checkout.depcruise()).toMatchObject({ code: 0 });
  await node('node_modules/typescript/bin/tsc', '--project', 'tsconfig.all.json');
  await node('dist/src/platform/commands/openapi.js');
  await node('node_modules/openapi-typescript/bin/cli.js', 'openapi.json', '--output', TYPES);
  checkout.env.OPERATIONS = paths;
  const run = await node(
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
    ...files!,
  );
  expect(run).toContain(`\nTest Suites: ${files!.length} passed, ${files!.length} total\n`);
}
