import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { claimPort } from '../../../src/platform/process/claim-port.js';
import { Checkout } from '../../support/checkout.js';
import { call, createKey } from '../../../src/testing/client.js';
import { createDatabase, listening } from '../../../src/testing/service.js';
import { provideBase } from './base-image.js';
import { Buildah, WHY_NOT } from './buildah.js';
import { Container, innermost } from './container.js';
import { lastLayer, type Layer } from './layer.js';

/** Must not get into the image. */
const SECRET = 'b7a1c5d94e2f';

interface ImageConfig {
  Entrypoint: string[];
  Cmd: string[];
  User: string;
  Healthcheck: { Test: string[] };
}

if (WHY_NOT) console.warn(`The tests of the image are skipped: ${WHY_NOT}.`);

(WHY_NOT ? describe.skip : describe)('The image', () => {
  let buildah: Buildah;
  let checkout: Checkout;
  let layer: Layer;
  let config: ImageConfig;
  let child: ReturnType<Container['start']> | undefined;

  beforeAll(async () => {
    buildah = new Buildah();
    checkout = Checkout.copy();
    for (const path of ['.env', '.git/config', 'data/password', 'test/secret']) checkout.write(path, SECRET);
    // As they are checked out under a strict umask.
    const copied = ['src', 'docs', 'package.json'].map((name) => join(checkout.path, name));
    execFileSync('chmod', ['-R', 'go-rwx', ...copied]);
    const base = /^FROM (\S+)/m.exec(checkout.read('Dockerfile'))![1]!;
    console.info(`Built on ${await provideBase(buildah, base)}`);
    await buildah.build('petstore', checkout.path, SECRET);
    layer = await lastLayer(buildah, 'petstore');
    config = JSON.parse(await buildah.do('inspect', '--type=image', 'petstore')).Docker.config;
  }, 900_000);
  afterAll(() => {
    if (child?.exitCode === null) process.kill(innermost(child.pid!), 'SIGKILL');
    checkout.remove();
    buildah.remove();
  });

  test('has the build, the packages that it needs, and nothing else', () => {
    const { packages } = JSON.parse(checkout.read('package-lock.json')) as {
      packages: Record<string, { dev?: true; optional?: true; devOptional?: true }>;
    };
    const needed = Object.entries(packages)
      .filter(([, { dev, optional, devOptional }]) => !dev && !optional && !devOptional)
      .map(([path]) => `app/${path}`)
      .filter((path) => path !== 'app/');
    const paths = layer.entries.map(({ path }) => path.replace(/\/$/, ''));
    const outside = paths.filter(
      (path) => !/^app(?:$|\/(?:node_modules|dist)(?:$|\/)|\/package\.json$)/.test(path),
    );
    expect(outside).toEqual([]);
    expect(paths.filter((path) => /^app\/dist\/[^/]+$/.test(path)).toSorted()).toEqual([
      'app/dist/docs',
      'app/dist/ormconfig.js',
      'app/dist/src',
    ]);
    const packaged = paths.filter((path) => /^app(?:\/node_modules\/(?:@[^/]+\/)?[^/@.][^/]*)+$/.test(path));
    expect(packaged.toSorted()).toEqual(needed.toSorted());
    const hidden = paths.filter((path) => /^app\/node_modules\/\.[^/]+$/.test(path));
    expect(hidden.toSorted()).toEqual(['app/node_modules/.bin', 'app/node_modules/.package-lock.json']);
    expect(paths.filter((path) => /\.(?:map|[cm]?ts)$/.test(path))).toEqual([]);
  });

  test('adds less than 60 MB to Node', () => {
    const { entries, archive, compressedBytes } = layer;
    console.info(`${entries.length} entries, ${archive.length} bytes, ${compressedBytes} compressed`);
    expect(archive.length).toBeLessThan(60e6);
  });

  test('has no secret of the folder or of npm', () => {
    expect(layer.archive.includes(SECRET)).toBe(false);
    expect(JSON.stringify(config)).not.toContain(SECRET);
  });

  test('belongs to root, and can be read by anybody, whatever umask its sources had', () => {
    const isOpen = ({ isLink, isFolder, mode, uid }: Layer['entries'][number]) =>
      isLink || (uid === 0 && (mode & 0o022) === 0 && (mode & 0o005) >= (isFolder ? 5 : 4));
    expect(layer.entries.filter((entry) => !isOpen(entry)).map(({ path }) => path)).toEqual([]);
    expect(config.User).toBe('1000:1000');
  });

  test('serves as anybody who can write nothing, is healthy, and ends with 0 on SIGTERM', async () => {
    const { container, open } = await Container.from(buildah, 'petstore');
    expect(open.filter((path) => path.startsWith('/app'))).toEqual([]);
    expect(await container.writable()).toEqual([]);

    const databaseUrl = await createDatabase();
    const port = await claimPort(0, '127.0.0.1');
    const env = { DATABASE_URL: databaseUrl, HOST: '127.0.0.1', PORT: String(port) };
    const [, ...check] = config.Healthcheck.Test;
    expect(await container.run(env, check)).toMatchObject({ code: 1 });
    const migrate = [...config.Entrypoint, 'dist/src/commands/petstore.js', 'migrate'];
    expect(await container.run(env, migrate)).toMatchObject({ code: 0 });
    child = container.start(env, [...config.Entrypoint, ...config.Cmd]);
    const exit = once(child, 'exit');
    const service = await listening(child, databaseUrl);
    expect((await call(service, 'GET', '/health/ready')).status).toBe(200);
    expect(await container.run(env, check)).toMatchObject({ code: 0 });
    const key = await createKey(service);
    const { body } = await call(service, 'POST', '/v1/pets', { key, body: { name: 'Rex', categoryId: 1 } });
    expect((await call(service, 'GET', '/v1/pets', { key })).body).toEqual([body]);
    expect((await fetch(`${service.url}/docs`)).status).toBe(200);

    process.kill(innermost(child.pid!), 'SIGTERM');
    expect(await exit).toEqual([0, null]);
  }, 300_000);
});
