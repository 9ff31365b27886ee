import { base, type Manifest, manifestsIn, overlays } from '../support/manifests.js';
import { schemaErrors } from './packages/kubernetes.js';

// Each change makes a manifest that Kubernetes would refuse, with what it would name.
const WRONG: [named: string, change: (spec: Manifest['spec']) => void][] = [
  ['terminationGracePeriod', ({ template }) => (template.spec.terminationGracePeriod = 30)],
  ['readOnlyRootFilesystem', ({ template }) => (template.spec.readOnlyRootFilesystem = true)],
  ['replicas', (spec) => (spec.replicas = '2')],
  ['imagePullPolicy', ({ template }) => (template.spec.containers[0].imagePullPolicy = 'Sometimes')],
  ['memory', ({ template }) => (template.spec.containers[0].resources.limits.memory = '512 MB')],
  ['selector', (spec) => delete spec.selector],
];

test('The manifests are valid by the schemas of Kubernetes, which refuse wrong ones', async () => {
  const wrong = WRONG.map(([, change]) => {
    const copy = structuredClone(base.find(({ kind }) => kind === 'Deployment')!);
    change(copy.spec);
    return copy;
  });
  // One compilation for all: it takes seconds.
  const all = [...base, ...[...overlays.values()].flatMap(manifestsIn), ...wrong];
  expect(await schemaErrors(all)).toEqual(WRONG.map(([named]) => expect.stringContaining(named)));
});
