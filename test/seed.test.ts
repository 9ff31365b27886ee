import { call, createKey } from '../src/testing/client.js';
import { endRuns, newFolder, nodeStart, removeFolders, runNode } from './support/npm.js';
import { createDatabase, query, type Service, startService } from '../src/testing/service.js';

let service: Service;
beforeAll(async () => (service = await startService()));
afterAll(() => service.stop());
afterEach(endRuns);
afterAll(removeFolders);

/** Runs the built program to its end, on the database of the service unless `env` names another. */
const seed = (args: string[], env: Record<string, string> = { DATABASE_URL: service.databaseUrl }) =>
  runNode(['dist/src/commands/seed/main.js', ...args], { env });

interface Counts {
  all: number;
  categories: number;
  names: number;
  available: number;
  pending: number;
  sold: number;
  none: number;
  isAnalyzed: boolean;
}

async function countPets(from: number): Promise<Counts> {
  const statuses = ['available', 'pending', 'sold'].map(
    (status) => `count(*) FILTER (WHERE status = '${status}')::int AS ${status}`,
  );
  const [counts] = await query<Counts>(
    service.databaseUrl,
    `SELECT count(*)::int AS all, count(DISTINCT category_id)::int AS categories, count(DISTINCT name)::int AS names,
       ${statuses.join(', ')}, count(*) FILTER (WHERE status IS NULL)::int AS none,
       (SELECT reltuples = (SELECT count(*) FROM pets) FROM pg_class WHERE oid = 'pets'::regclass) AS "isAnalyzed"
     FROM pets WHERE id > $1`,
    [from],
  );
  return counts!;
}

describe('Seeding', () => {
  test('adds the given number of animals, in every category, with the proportions of the mix', async () => {
    const { code, stdout, stderr } = await seed(['--pets', '100000']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '50 %\n100 %\n' });
    expect(stdout).toMatch(/^Added 100,000 animals in \d+\.\d s: [\d,]+ a second\.\n$/);
    expect(await countPets(0)).toEqual({
      all: 100_000,
      categories: 10,
      names: 100_000,
      available: 60_000,
      pending: 5_000,
      sold: 30_000,
      none: 5_000,
      isAnalyzed: true,
    });
    const key = await createKey(service);
    const pages = ['', '?status=pending', '?ids=1,50000,100000'].map((search) =>
      call(service, 'GET', `/v1/pets${search}`, { key }),
    );
    expect((await Promise.all(pages)).map(({ body }) => body.length)).toEqual([20, 20, 3]);
  });

  test('adds to existing animals, also with another mix', async () => {
    const [{ last }] = (await query<{ last: number }>(
      service.databaseUrl,
      'SELECT coalesce(max(id), 0)::int AS last FROM pets',
    )) as [{ last: number }];
    expect(await seed(['--pets', '100000', '--mix', 'rare'])).toMatchObject({ code: 0 });
    expect(await countPets(last)).toMatchObject({ all: 100_000, available: 100, pending: 1, sold: 99_899 });
    expect(await countPets(0)).toMatchObject({ all: last + 100_000, isAnalyzed: true });
  });

  test.each([
    [],
    ['--pets'],
    ['--pets', '0'],
    ['--pets', '-5'],
    ['--pets', '1e6'],
    ['--pets', '1.5'],
    ['--pets', '1000000001'],
    ['--pets', '5', '--mix', 'odd'],
    ['--pets', '5', 'more'],
    ['--cats', '5'],
  ])('refuses %s %s %s %s, says why, and ends with 2', async (...args) => {
    const { code, stdout, stderr } = await seed(args.filter((arg) => arg !== undefined));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^error: .+\n[^]*--help/);
  });

  test('of a database without the schema, or without a category, is refused in one line', async () => {
    const DATABASE_URL = await createDatabase();
    const outcome = await seed(['--pets', '5'], { DATABASE_URL });
    expect(outcome).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^petstore: The schema is not .+\n$/),
    });
    await query(DATABASE_URL, 'CREATE TABLE categories (id bigint)');
    const empty = await seed(['--pets', '5'], { DATABASE_URL });
    expect(empty).toMatchObject({ code: 1, stderr: 'petstore: There is no category. Animals need one.\n' });
  });

  test('works on the embedded database, whether a service runs on it or not', async () => {
    const DATA_DIR = newFolder();
    const run = nodeStart({ DATA_DIR });
    await run.ready();
    expect(await seed(['--pets', '5'], { DATA_DIR })).toMatchObject({ code: 0 });
    await run.stop();
    expect(await seed(['--pets', '5'], { DATA_DIR })).toMatchObject({ code: 0 });
    const again = await nodeStart({ DATA_DIR }).ready();
    expect((await again.listPets()).names).toContain('Milo 1');
  });
});
