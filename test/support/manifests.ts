import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load, loadAll, YAML11_SCHEMA } from 'js-yaml';
import { ROOT } from './npm.js';

export type Labels = Record<string, string>;

/** An object of Kubernetes, as a manifest describes it. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Labels };
  // oxlint-disable-next-line typescript/no-explicit-any -- its form depends on the kind
  spec: any;
}

export const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
export const manifestsIn = (text: string) => loadAll(text, { schema: YAML11_SCHEMA }) as Manifest[];

export function yaml11(text: string) {
  // oxlint-disable-next-line typescript/no-explicit-any -- YAML of any form
  return load(text, { schema: YAML11_SCHEMA }) as any;
}

/** The manifests that all deployments share. */
export const base: Manifest[] = yaml11(read('deploy/k8s/base/kustomization.yaml')).resources.flatMap(
  (file: string) => manifestsIn(read(join('deploy/k8s/base', file))),
);

export const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;

/** The manifests that each overlay builds; none without `kubectl`. */
export const overlays = new Map(
  (hasKubectl ? ['production', 'staging'] : []).map((name) => {
    const args = ['kustomize', join(ROOT, 'deploy/k8s/overlays', name)];
    return [name, execFileSync('kubectl', args, { encoding: 'utf8' })];
  }),
);
