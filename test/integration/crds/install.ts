/** Slipway's manifests below `deploy`, and its CRDs in an API server. */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubeClient } from '../../../adapters/kube/client';
import type { KubeObject, Resource } from '../../../adapters/kube/resources';

const DEPLOY = join(__dirname, '..', '..', '..', 'deploy');

export interface Crd extends KubeObject {
  readonly spec: {
    readonly versions: readonly {
      readonly additionalPrinterColumns?: readonly {
        readonly name: string;
        readonly priority?: number;
      }[];
    }[];
  };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

export const CRDS: Resource<Crd> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

/** Resolves when all of them are served. */
export async function installCrds(client: KubeClient): Promise<void> {
  await createCrds(client, await manifests<Crd>('crds'));
}

/** Resolves when they are served. */
export async function createCrds(client: KubeClient, crds: readonly Crd[]): Promise<void> {
  for (const crd of crds) await client.create(CRDS, crd);
  const waiting = new Set(crds.map((crd) => crd.metadata.name));
  const list = await client.list(CRDS);
  list.items.filter(isEstablished).forEach((crd) => waiting.delete(crd.metadata.name));
  if (waiting.size === 0) return;
  const signal = AbortSignal.timeout(60_000);
  for await (const { object } of client.watch(CRDS, {
    resourceVersion: list.resourceVersion,
    signal,
  })) {
    if (isEstablished(object)) waiting.delete(object.metadata.name);
    if (waiting.size === 0) return;
  }
  throw new Error(`never established: ${[...waiting].join(', ')}`);
}

function isEstablished(crd: Crd): boolean {
  return (
    crd.status?.conditions?.some(
      ({ type, status }) => type === 'Established' && status === 'True',
    ) ?? false
  );
}

/** The documents of every file of a folder below `deploy`, by file name. */
export async function manifests<T extends KubeObject>(folder: string): Promise<readonly T[]> {
  const files = (await readdir(join(DEPLOY, folder)))
    .filter((file) => file.endsWith('.yaml'))
    .sort();
  const texts = await Promise.all(
    files.map((file) => readFile(join(DEPLOY, folder, file), 'utf8')),
  );
  return texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as T));
}
