import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { Checkout } from '../support/checkout.js';
import { faceOf } from '../support/face.js';
import { ROOT } from '../support/npm.js';

describe('The linters', () => {
  let checkout: Checkout;
  beforeAll(() => (checkout = Checkout.copy()));
  afterAll(() => checkout.remove());

  test('refuse upward imports, of every room of the platform, of existing features and of new ones', async () => {
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
    for (const [i, [folder, target]] of wrong.entries()) {
      const path = relative(folder, target);
      checkout.write(`src/${folder}/wrong-${i}.ts`, `export * from '${path}.js';\n`);
    }
    const { code, output } = await checkout.depcruise();
    for (const [i, [folder]] of wrong.entries()) checkout.removeFile(`src/${folder}/wrong-${i}.ts`);
    const reported = [...output.matchAll(/error .*?: src\/.+\/wrong-(\d+)\.ts → /g)];
    expect(new Set(reported.map(([, i]) => wrong[Number(i)]))).toEqual(new Set(wrong));
    expect(code).toBe(wrong.length);
  });

  test('refuse a circle, though it be one of types', async () => {
    checkout.write('src/newcomers/one.ts', "export type { Two } from './two.js';\nexport type One = 1;\n");
    checkout.write('src/newcomers/two.ts', "export type { One } from './one.js';\nexport type Two = 2;\n");
    const { code, output } = await checkout.depcruise();
    for (const name of ['one', 'two']) checkout.removeFile(`src/newcomers/${name}.ts`);
    expect(code).toBeGreaterThan(0);
    expect(output).toMatch(/error circles: .*newcomers/);
  });

  test('let a new feature import the face of the platform, and other features', async () => {
    const targets = ['../pets/pets.service.js', '../config.js', 'petstore/platform', 'petstore/product'];
    const lines = targets.map((target) => `export * from '${target}';\n`);
    checkout.write('src/newcomers/right.ts', lines.join(''));
    expect(await checkout.depcruise()).toMatchObject({ code: 0 });
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

test.each(['platform/index.d.ts', 'product.d.ts', 'testing/index.d.ts'])(
  'What teams compile against changes only knowingly: %s',
  (entry) => {
    const kept = join(ROOT, 'released/faces', entry.replace('/index', '').replace('.d.ts', '.txt'));
    const face = faceOf(entry);
    // `UPDATE_FACES=1 npm test -- faces` writes them, for a change that breaks no feature (docs/versioning.md).
    if (process.env.UPDATE_FACES) writeFileSync(kept, face);
    expect(face).toBe(readFileSync(kept, 'utf8'));
  },
);
