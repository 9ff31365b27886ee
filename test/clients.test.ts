import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { addPet, allPets, type Pet, petStore } from '../examples/typescript/client.js';
import { createKey } from './support/client.js';
import { operations } from './support/contract.js';
import { runHttpFile } from './support/http-file.js';
import { ROOT } from './support/npm.js';
import { query, type Service, startService } from './support/service.js';

const run = promisify(execFile);
const node = (...args: string[]) => run(process.execPath, args, { cwd: ROOT });

let service: Service;
let key: string;

beforeAll(async () => {
  service = await startService();
  key = await createKey(service);
});
afterAll(() => service.stop());

describe('The TypeScript client', () => {
  test('has the types generated from the document: `npm run openapi` writes them', async () => {
    const { stdout } = await node('node_modules/openapi-typescript/bin/cli.js', 'openapi.json');
    expect(readFileSync(join(ROOT, 'examples/typescript/schema.d.ts'), 'utf8')).toBe(stdout);
  });

  test('compiles', async () => {
    await node('node_modules/typescript/bin/tsc', '--project', 'examples/typescript');
  });

  test('goes from nothing to a list in its quickstart', async () => {
    const { stdout } = await node('examples/typescript/quickstart.ts', `${service.url}/v1`);
    expect(stdout).toBe('Added Luna.\nLuna is available.\n');
  });

  test('follows all pages, with the filter kept', async () => {
    const store = petStore(`${service.url}/v1`, key);
    const added: Pet[] = [];
    for (const name of ['Bo', 'Cy', 'Di', 'Ed', 'Fi']) {
      added.push(await addPet(store, { name, categoryId: 1, status: 'sold' }));
    }
    expect(await Array.fromAsync(allPets(store, { status: 'sold', limit: 2 }))).toEqual(added);
  });

  test('adds an animal once even if the answer is lost', async () => {
    let lost = 0;
    const losing = createServer((inbound, outbound) => {
      const { method, url, headers } = inbound;
      const forward = request(service.url + url, { method, headers }, (answer) => {
        if (lost++ < 2) outbound.destroy();
        else answer.pipe(outbound.writeHead(answer.statusCode!, answer.headers));
        answer.resume();
      });
      inbound.pipe(forward);
    });
    await new Promise<void>((resolve) => losing.listen(0, '127.0.0.1', resolve));
    const store = petStore(`http://127.0.0.1:${(losing.address() as AddressInfo).port}/v1`, key);
    const pet = await addPet(store, { name: 'Once', categoryId: 1 }).finally(() => losing.close());
    const rows = await query(service.databaseUrl, `SELECT id FROM pets WHERE name = 'Once'`);
    expect([lost, rows]).toEqual([3, [{ id: String(pet.id) }]]);
  });

  test('identifies a failure by its code, and does not retry what cannot succeed', async () => {
    const adding = addPet(petStore(`${service.url}/v1`, key), { name: 'Nix', categoryId: 999 });
    await expect(adding).rejects.toMatchObject({ code: 'category_not_found', status: 400 });
  });
});

describe('The examples', () => {
  test('with curl end with the list, and the address of its page', async () => {
    const { stdout } = await run('bash', ['examples/curl/quickstart.sh', `${service.url}/v1`], { cwd: ROOT });
    expect(stdout).toMatch(/"name":"Luna","categoryId":2,"status":"available"\}\n\n/);
    expect(stdout).toMatch(/HTTP\/1\.1 200 OK[^]*\[\{.*\}\]\n$/);
  });

  /** Those of the product, and those of each module that was added. */
  const files = ['examples/petstore.http', ...globSync('src/*/*.http', { cwd: ROOT })];
  const called = new Set<string>();

  test.each(files)('in %s succeed, one after the other, more than once', async (file) => {
    for (let time = 0; time < 2; time++) {
      const answers = await runHttpFile(file, { base: `${service.url}/v1` });
      expect(answers.filter(({ status }) => status >= 300)).toEqual([]);
      for (const { operationId } of answers) if (operationId) called.add(operationId);
    }
  });

  test('in these files cover every operation of version 1 that is not deprecated', () => {
    const left = operations
      .filter(({ path, operation }) => !operation.deprecated && !/^\/v\d+\//.test(path))
      .map(({ operation }) => operation.operationId)
      .filter((id) => !called.has(id));
    expect(left.map((id) => `Add a request for ${id} to the .http file of its module`)).toEqual([]);
  });
});
