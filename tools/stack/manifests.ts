import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubernetesObject } from '@kubernetes/client-node';
import {
  KubeConfig,
  KubernetesObjectApi,
  loadAllYaml,
  PatchStrategy,
} from '@kubernetes/client-node';
import { repositoryRoot } from '../repository-root';

/** As `kubectl apply --server-side` does. */
export interface Manifests {
  apply(yaml: string): Promise<void>;
  /** In this order; a folder stands for its `.yaml` files. */
  applyFiles(...paths: readonly string[]): Promise<void>;
  applyObject(object: KubernetesObject): Promise<void>;
}

/** With the rights of the kubeconfig's user. */
export function manifestsWith(kubeconfig: string): Manifests {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const client = KubernetesObjectApi.makeApiClient(config);
  const applyObject = async (object: KubernetesObject): Promise<void> => {
    await client.patch(
      object,
      undefined,
      undefined,
      'slipway-tools',
      true,
      PatchStrategy.ServerSideApply,
    );
  };
  const apply = async (yaml: string): Promise<void> => {
    for (const object of loadAllYaml(yaml) as KubernetesObject[]) {
      // An empty document between two separators has no kind.
      if (object?.kind !== undefined) await applyObject(object);
    }
  };
  return {
    apply,
    applyObject,
    applyFiles: async (...paths) => {
      for (const path of paths) {
        for (const file of yamlFiles(join(repositoryRoot(), path))) {
          await apply(readFileSync(file, 'utf8'));
        }
      }
    },
  };
}

function yamlFiles(path: string): readonly string[] {
  if (path.endsWith('.yaml')) return [path];
  return readdirSync(path)
    .filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml')
    .sort()
    .map((name) => join(path, name));
}
