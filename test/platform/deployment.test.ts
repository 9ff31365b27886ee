import { once } from 'node:events';
import { execFileSync } from 'node:child_process';
import { cpSync, globSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { ApiError } from '../../src/platform/api/api-error.js';
import { Config } from '../../src/config.js';
import { expectError, send } from '../../src/testing/client.js';
import { Haproxy, hasHaproxy } from '../support/haproxy.js';
import {
  base,
  hasKubectl,
  type Labels,
  type Manifest,
  manifestsIn,
  overlays,
  read,
  yaml11,
} from '../support/manifests.js';
import { newFolder, removeFolders } from '../support/npm.js';
import { freePorts } from '../support/ports.js';
import { sharedService, type TestedService } from '../../src/testing/service.js';

const ofKind = (kind: string) => base.filter((manifest) => manifest.kind === kind);
const deployments = ofKind('Deployment');
const container = ({ spec }: Manifest) => spec.template.spec.containers[0];

const isSelected = (selector: Labels, labels: Labels = {}) =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);

afterAll(removeFolders);

describe('The manifests for Kubernetes', () => {
  test('are all listed', () => {
    const files = globSync('*.yaml', { cwd: 'deploy/k8s/base', exclude: ['kustomization.yaml'] });
    expect(yaml11(read('deploy/k8s/base/kustomization.yaml')).resources.toSorted()).toEqual(files.toSorted());
  });

  (hasKubectl ? test : test.skip).each(['production', 'staging'])('of %s build for their host', (name) => {
    const built = overlays.get(name)!;
    const manifests = manifestsIn(built);
    expect(manifests).toHaveLength(base.length + 1);
    expect(built).not.toMatch(/image: petstore$/m);
    const own = name === 'production' ? 'petstore.example' : 'staging.petstore.example';
    const ingress = manifests.find(({ kind }) => kind === 'Ingress')!;
    expect([ingress.spec.rules[0].host, ...ingress.spec.tls[0].hosts]).toEqual([own, own]);
    expect(built).toContain(`BASE_URL: https://${own}/v1`);
  });

  test('select the pods that they are meant for', () => {
    const selectors: Labels[] = [
      ...ofKind('Service').map(({ spec }) => spec.selector),
      ...ofKind('PodDisruptionBudget').map(({ spec }) => spec.selector.matchLabels),
      ...ofKind('NetworkPolicy').map(({ spec }) => spec.podSelector.matchLabels),
      ...deployments.map(({ spec }) => spec.selector.matchLabels),
    ];
    for (const selector of selectors) {
      expect(deployments.some(({ spec }) => isSelected(selector, spec.template.metadata.labels))).toBe(true);
    }
    const names = deployments.map(({ metadata }) => metadata.name);
    expect(names).toContain(ofKind('HorizontalPodAutoscaler')[0]!.spec.scaleTargetRef.name);
    const [{ backend }] = ofKind('Ingress')[0]!.spec.rules[0].http.paths;
    const [service] = ofKind('Service');
    expect(backend.service).toEqual({
      name: service!.metadata.name,
      port: { name: service!.spec.ports[0].name },
    });
    for (const one of deployments)
      expect(container(one).ports[0].name).toBe(service!.spec.ports[0].targetPort);
  });

  test('run every container without privileges, on a read-only file system', () => {
    for (const { spec } of deployments) {
      const { securityContext, initContainers, containers } = spec.template.spec;
      expect(securityContext).toEqual({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      for (const one of [...initContainers, ...containers]) {
        expect(one.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
      }
    }
  });

  test('give a pod the time that a stop may take', () => {
    for (const one of deployments) {
      const pause = container(one).lifecycle?.preStop.sleep.seconds ?? 0;
      const needed = pause + new Config().SHUTDOWN_GRACE_MS / 1000 + 10;
      expect(one.spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(needed);
    }
  });
});

test('The checks of a change go on in a clone that lacks the commit before', () => {
  const cwd = newFolder();
  const [lines] = /^base=[^]*?^night=.*$/m.exec(read('.ci/run'))!;
  cpSync('test/long/subjects.js', join(cwd, 'test/long/subjects.js'));
  const author = '-c user.name=x -c user.email=x@x.example';
  const clone = `git init --quiet; git add .; git ${author} commit --quiet --message=x`;
  const script = `${clone}\n${lines}\necho "and goes on: $night"`;
  const printed = execFileSync('bash', ['-euo', 'pipefail', '-c', script], {
    cwd,
    stdio: ['ignore', 'pipe'],
  });
  expect(String(printed)).toBe('and goes on: \n');
});

test('Docker Compose gives the proxy and the service the time that a stop may take', () => {
  const { api, worker, proxy } = yaml11(read('compose.yaml')).services;
  const [, hardStop] = /hard-stop-after (\d+)s/.exec(read('deploy/compose/haproxy.cfg'))!;
  const given = ({ stop_grace_period = '10s' }) => Number.parseInt(stop_grace_period, 10);
  expect(given(proxy)).toBeGreaterThan(Number(hardStop));
  for (const one of [api, worker])
    expect(given(one)).toBeGreaterThan(new Config().SHUTDOWN_GRACE_MS / 1000 + 10);
});

describe('What is deployed', () => {
  test('is probed where the service answers', async () => {
    const probes = deployments.flatMap((one) => {
      const { startupProbe, livenessProbe, readinessProbe } = container(one);
      return [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.path);
    });
    const proxied = /option httpchk GET (\S+)/.exec(read('deploy/compose/haproxy.cfg'))![1];
    const image = /(\/health\/\w+)/.exec(read('Dockerfile'))![1];
    for (const path of new Set([...probes, proxied, image])) {
      expect((await fetch(sharedService().url + path)).status).toBe(200);
    }
  });

  test('gets no variable that the service does not know', () => {
    const inKubernetes = deployments.flatMap(({ spec }) =>
      [...spec.template.spec.initContainers, ...spec.template.spec.containers].flatMap(({ env }) => env),
    );
    const inOverlays = ['production', 'staging'].flatMap((name) => {
      const { configMapGenerator } = yaml11(read(`deploy/k8s/overlays/${name}/kustomization.yaml`));
      return configMapGenerator[0].literals.map((literal: string) => literal.split('=')[0]);
    });
    const { migrate, api, worker } = yaml11(read('compose.yaml')).services;
    const inCompose = [migrate, api, worker].flatMap(({ environment }) => Object.keys(environment));
    const given = new Set([...inKubernetes.map(({ name }) => name), ...inOverlays, ...inCompose]);
    // The driver of PostgreSQL reads the last one.
    const known = new Set([...Object.keys(new Config()), 'PGPASSWORD']);
    expect(given.difference(known)).toEqual(new Set());
  });

  test('runs on the Node that the project pins, in the build and in the image', () => {
    const { optionalDependencies } = JSON.parse(read('package.json'));
    const nodes = Object.entries(optionalDependencies).filter(([name]) => name.startsWith('node-'));
    const [node, ...others] = new Set(nodes.map(([, version]) => version));
    expect(others).toEqual([]);
    const images = [...read('Dockerfile').matchAll(/^FROM docker.io\/library\/node:(\S+?)-/gm)].map(
      ([, version]) => version,
    );
    expect(images).toEqual([node, node]);
  });

  test('is answered by the proxy with the bytes of the service', () => {
    for (const status of [400, 408, 413, 431, 503]) {
      const [head, body] = read(`deploy/compose/errors/${status}.http`).split('\r\n\r\n');
      const error = JSON.parse(body!);
      expect(error).toEqual(new ApiError(error.code).toJSON());
      expect(head).toContain(`\r\nContent-Length: ${Buffer.byteLength(body!)}\r\n`);
    }
  });
});

(hasHaproxy ? describe : describe.skip)('The proxy', () => {
  const service = sharedService();
  let through: TestedService;
  let proxy: Haproxy;
  beforeAll(async () => {
    const [port] = await freePorts(1);
    proxy = await Haproxy.start(port!, [Number(new URL(service.url).port)], { 'http-request': '300ms' });
    await proxy.untilReady();
    through = { ...service, url: proxy.url };
  });
  afterAll(() => proxy?.stop());
  const request = (path: string, headers = '') => `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;

  test('answers in the shape of the service while no instance is there', async () => {
    const [port, nowhere] = await freePorts(2);
    const alone = await Haproxy.start(port!, [nowhere!]);
    const answer = await send({ ...service, url: alone.url }, request('/v1/pets', 'Content-Length: 0\r\n'));
    await alone.stop();
    expectError(answer, 503, 'service_unavailable');
    expect(answer.headers.get('Retry-After')).toBe('1');
    expect(answer.headers.get('X-Request-Id')).toMatch(/^[\da-f-]{36}$/);
  });

  test.each(['/hangs', '/breaks-off', '/says-garbage'])(
    'answers in the shape of the service for an instance that is ready and %s',
    async (path) => {
      const broken = createServer(({ url, socket }, response) => {
        if (url === '/health/ready') response.end('{}');
        if (url === '/breaks-off') socket.destroy();
        if (url === '/says-garbage') socket.end('NOTHING\r\n\r\n');
      }).listen(0, '127.0.0.1');
      await once(broken, 'listening');
      const [port] = await freePorts(1);
      const instance = (broken.address() as AddressInfo).port;
      const other = await Haproxy.start(port!, [instance], { server: '300ms' });
      await other.untilReady();
      const answer = await send({ ...service, url: other.url }, request(path, 'Content-Length: 0\r\n'));
      await other.stop();
      broken.close();
      broken.closeAllConnections();
      expectError(answer, 503, 'service_unavailable');
      expect(answer.headers.get('X-Request-Id')).toMatch(/^[\da-f-]{36}$/);
    },
  );

  test.each([20_000, 32_000])('leaves %i bytes of headers to the service to refuse', async (length) => {
    const answer = await send(through, request('/v1/pets', `X-Long: ${'x'.repeat(length)}\r\n`));
    expectError(answer, 431, 'headers_too_large');
  });
});
